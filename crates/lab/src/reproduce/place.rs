//! Where a session ran: on this machine's kernel, or in virtual machines.

use unspin_trial::{PastBoot, Report};

/// The place of a session's runs.
pub struct Place<'r> {
    report: &'r Report,
    /// A virtual machine, if each run had one. Those of a session are alike.
    guest: Option<&'r PastBoot>,
}

impl<'r> Place<'r> {
    /// That of a session.
    pub fn of(report: &'r Report) -> Place<'r> {
        let guest = report.kernels.iter().flatten().find_map(|kernel| kernel.boot.as_ref());
        Place { report, guest }
    }

    /// "2 CPUs", or "2 virtual CPUs".
    pub fn cpus(&self) -> String {
        match self.guest {
            Some(guest) => format!("{} virtual CPUs", guest.cpus),
            None => format!("{} CPUs", self.report.machine.cpus),
        }
    }

    /// "Linux 6.18", or the releases of the kernels that were booted, and what executed their instructions.
    pub fn kernel(&self) -> String {
        let Some(guest) = self.guest else { return format!("Linux {}", self.report.machine.kernel) };
        let boots = self.report.kernels.iter().flatten().filter_map(|kernel| kernel.boot.as_ref());
        let mut releases: Vec<&str> = boots.map(|boot| &*boot.release).collect();
        releases.dedup();
        format!("Linux {} by {}", releases.join(" and "), guest.accelerator)
    }
}
