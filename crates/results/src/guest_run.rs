//! `unspin vm --json`: the run of a command in a virtual machine.

use serde::{Deserialize, Serialize};

/// The kind of the document, and the number of its format.
pub const VM_SCHEMA: &str = "unspin.vm/1";

/// The run of a command in a virtual machine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GuestRun {
    /// [`VM_SCHEMA`].
    pub schema: String,
    /// The kernel's release, as `uname -r` prints it.
    pub kernel: String,
    /// What executed the instructions: `kvm`, the processor; `tcg`, a translator, under which only ratios of one session mean
    /// anything.
    pub accelerator: String,
    /// CPUs of the virtual machine.
    pub cpus: u16,
    /// Its memory in bytes.
    pub memory_bytes: u64,
    /// The command's exit code; 128 + n if signal n killed it.
    pub code: i32,
    /// Seconds from the start of the virtual machine to that of the command.
    pub boot_s: f64,
    /// Seconds from the start of the command to its end, by the guest's clock.
    pub run_s: f64,
    /// CPU seconds in user mode of all processes that the command has started, by the guest's account.
    pub user_s: f64,
    /// CPU seconds of the same in the guest's kernel.
    pub system_s: f64,
    /// The scheduler that was loaded for the command; none for the kernel's own.
    #[serde(default)]
    pub scheduler: Option<ScheduledBy>,
}

/// The scheduler of a command in a virtual machine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ScheduledBy {
    /// The name that the kernel shows.
    pub ops: String,
    /// Which tasks it scheduled: those of the `machine`, or of the `program`.
    pub reach: String,
    /// CPU seconds of its process. Those of the command do not contain them.
    pub cpu_s: f64,
}

impl GuestRun {
    /// Reads a document. None if it is none, or of another format.
    pub fn parse(json: &str) -> Option<GuestRun> {
        serde_json::from_str(json).ok().filter(|run: &GuestRun| run.schema == VM_SCHEMA)
    }

    /// Whether a translator executed the instructions.
    pub fn is_translated(&self) -> bool {
        self.accelerator != "kvm"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_is_read_as_it_was_written() {
        let run = GuestRun {
            schema: VM_SCHEMA.into(),
            kernel: "7.3.4+deb13-rt-amd64".into(),
            accelerator: "tcg".into(),
            cpus: 4,
            memory_bytes: 1 << 30,
            code: 3,
            boot_s: 4.5,
            run_s: 0.25,
            user_s: 0.125,
            system_s: 0.0625,
            scheduler: Some(ScheduledBy { ops: "mq".into(), reach: "program".into(), cpu_s: 0.5 }),
        };
        let json = serde_json::to_string(&run).unwrap();
        assert_eq!(GuestRun::parse(&json), Some(run.clone()));
        assert!(run.is_translated());
        for other in ["", "{}", &json.replace("unspin.vm/1", "unspin.vm/2")] {
            assert_eq!(GuestRun::parse(other), None, "{other}");
        }
    }
}
