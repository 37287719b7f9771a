//! The options of `unspin vm`.

use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use unspin_launch::command::line::parse_duration;
use unspin_launch::scheduler::SchedulerCommand;

const VM_HELP: &str = "\
Exit code: that of the command, 128 + n if signal n killed it, or
    2  the command line is wrong: there is no such kernel, --memory is too small for the files, or --file names nothing
  125  the virtual machine cannot be had, did not boot, or ended before the command, or --time-limit is over: the message has the
       reason, the remedy, and the end of the console
  126  the command cannot be executed, or lacks a library; or unspin-lab is of another version than unspin
  127  the command does not exist, or unspin-lab is not installed

Examples:
  unspin vm -- uname -a                                        # on the newest kernel of Debian's cloud flavour
  unspin vm --kernel rt --cpus 4 -- unspin hackbench 10        # a workload on a kernel with PREEMPT_RT
  unspin vm --scheduler 'unspin-sched mq' -- unspin hackbench 10   # the same under another scheduler
  unspin vm --file ./data:/data -- sh -c './server & ./load /data'   # the programs that the words name are there, too";

/// Run a command on another kernel, in a virtual machine
///
/// Boots a kernel of Debian in qemu, runs the command as root, and powers off. Output and exit code are those of the command. The
/// virtual machine has the programs that the command line names, with their libraries, at the paths that they have here; the files
/// of --file; and nothing else. It has no disk and no network, and what the command writes is gone at its end. Where KVM does not
/// work, qemu translates the instructions (TCG); then times mean little, and only ratios of one run do.
#[derive(Args, Debug)]
#[command(after_help = VM_HELP, override_usage = "unspin vm [OPTIONS] -- <COMMAND>...")]
pub struct VmOptions {
    /// The kernel: the newest of a flavour (cloud, plain, rt), a version such as 7.3.4+deb13-rt-amd64, or the file of a kernel.
    /// Kernels are fetched from Debian's archive and kept in the cache; one that is there is used without network
    #[arg(long, value_name = "KERNEL", default_value = "cloud")]
    pub kernel: String,

    /// CPUs of the virtual machine
    #[arg(long, value_name = "NUM", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=255))]
    pub cpus: u16,

    /// Memory of the virtual machine, such as 512M or 2G [default: 1G, and three times the size of its files]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    pub memory: Option<u64>,

    /// A file or folder that the virtual machine gets, at this path there [default: the same path]. Repeatable
    #[arg(long = "file", value_name = "HOST[:GUEST]")]
    pub files: Vec<String>,

    /// What executes the instructions
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub accel: VmAccelerator,

    /// End the virtual machine if the command runs longer [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,

    /// A parameter of the kernel, such as profile=2. Repeatable
    #[arg(long = "kernel-parameter", value_name = "PARAMETER")]
    pub kernel_parameters: Vec<String>,

    /// Do not let the kernel see that it runs in a virtual machine. It then uses the spin locks of real machines, whose contention
    /// its tracepoints report
    #[arg(long)]
    pub hide_hypervisor: bool,

    /// A command that loads a scheduler of sched_ext and keeps running. It is started before the command and ended after it; if it does
    /// not last, the command has failed. Its program comes along
    #[arg(long, value_name = "CMD", value_parser = parse_scheduler)]
    pub scheduler: Option<SchedulerCommand>,

    /// The mirror of Debian's archive [default: that of this machine's apt, else Debian's own]
    #[arg(long, value_name = "URL")]
    pub mirror: Option<String>,

    /// Write kernel, accelerator, exit code and times to this file as JSON, when the command has ended
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Print neither the accelerator nor the times on standard error
    #[arg(long, short)]
    pub quiet: bool,

    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// What executes the instructions of a virtual machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum VmAccelerator {
    /// KVM where it works, TCG elsewhere
    Auto,
    /// The processor
    Kvm,
    /// A translator
    Tcg,
}

fn parse_scheduler(line: &str) -> Result<SchedulerCommand, String> {
    SchedulerCommand::parse(line).map_err(|error| error.to_string())
}

/// Bytes, from a number with a unit.
fn parse_memory(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.strip_suffix(['G', 'g']) {
        Some(number) => (number, 1 << 30),
        None => (text.strip_suffix(['M', 'm']).unwrap_or_default(), 1 << 20),
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.filter(|&bytes| bytes > 0).ok_or_else(|| "give a size such as 512M or 2G".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_a_unit() {
        assert_eq!(parse_memory("512M"), Ok(512 << 20));
        assert_eq!(parse_memory("2g"), Ok(2 << 30));
        for bad in ["", "M", "512", "0M", "-1M", "1.5G", "99999999999999G"] {
            assert!(parse_memory(bad).is_err(), "{bad}");
        }
    }
}
