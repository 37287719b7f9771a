//! The kernels of a session: what was booted.

use super::booted::PastBoot;
use super::configuration::Configuration;
use super::session::Session;
use serde::Serialize;

/// The kernel of a configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BootedKernel {
    /// As the command line names it.
    pub name: String,
    /// What was booted last; none if no boot reached the program's end.
    #[serde(flatten)]
    pub boot: Option<PastBoot>,
}

impl BootedKernel {
    /// That of a configuration; none if it runs on the machine's own kernel.
    pub fn of(configuration: &Configuration, index: usize, session: &Session) -> Option<BootedKernel> {
        let name = configuration.guest_kernel()?.name.clone();
        let runs = session.runs.iter().filter(|run| run.candidate == index);
        let boot = runs.filter_map(|run| run.trial.boot.clone()).next_back();
        Some(BootedKernel { name, boot })
    }

    /// "rt: Linux 7.3.4+deb13-rt-amd64, 2 CPUs, kvm; the last boot took 1.2 s."
    pub fn sentence(&self, name: &str) -> String {
        let Some(PastBoot { release, accelerator, cpus, boot_s, .. }) = &self.boot else {
            return format!("{name}: no boot reached the program's end.");
        };
        format!("{name}: Linux {release}, {cpus} CPUs, {accelerator}; the last boot took {boot_s:.1} s.")
    }
}
