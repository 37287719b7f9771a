//! A run on another kernel: one boot of a virtual machine for each run, by `unspin vm`.
//!
//! Times are those that the guest takes. The boot, which takes longer than most programs, is not among them.

use super::performance::Performance;
use serde::Serialize;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use unspin_launch::command::lab;
use unspin_launch::error::Error;
use unspin_results::GuestRun;
use unspin_sys::child::Usage;

/// A kernel that is booted for each run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuestKernel {
    /// The kernel, as `unspin vm --kernel` takes it.
    pub name: String,
    /// Further options of `unspin vm`.
    pub options: Vec<OsString>,
}

/// What is known of a run's virtual machine when the run is over.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PastBoot {
    /// The kernel's release, as `uname -r` prints it.
    pub release: String,
    /// What executed the instructions: `kvm`, or the translator `tcg`.
    pub accelerator: String,
    /// CPUs of the virtual machine.
    pub cpus: u16,
    /// Seconds until the command began.
    pub boot_s: f64,
    #[serde(skip)]
    is_translated: bool,
}

impl PastBoot {
    /// Whether a translator executed the instructions.
    pub fn is_translated(&self) -> bool {
        self.is_translated
    }
}

impl GuestKernel {
    /// Splits options as the shell does.
    pub fn options_of(line: &str) -> Result<Vec<OsString>, Error> {
        let words = shell_words::split(line)
            .map_err(|_| Error::Usage(format!("--vm-options '{line}': a quote is not closed: close it")))?;
        Ok(words.into_iter().map(OsString::from).collect())
    }

    /// The command that boots the kernel, runs `program` in it, and writes what it has measured to `result`.
    pub fn command(&self, program: &Command, result: &Path) -> Result<Command, Error> {
        // The file of the last run.
        let _ = fs::remove_file(result);
        let mut command = Command::new(lab::find(lab::VM)?);
        command.args([lab::VM, "--quiet", "--kernel", &self.name, "--json"]).arg(result).args(&self.options);
        command.arg("--").arg(program.get_program()).args(program.get_args());
        Ok(command)
    }
}

/// Puts the guest's times in the place of those of the virtual machine. Returns none if the virtual machine has not run the command to
/// its end; then the run has failed.
pub fn take_guests_times(performance: &mut Performance, result: &Path) -> Option<PastBoot> {
    let Some(run) = fs::read_to_string(result).ok().and_then(|json| GuestRun::parse(&json)) else {
        let how = performance.failure.take().unwrap_or_else(|| "it has left no result".into());
        performance.failure = Some(format!("the virtual machine did not run the program to its end: {how}"));
        return None;
    };
    let microseconds = |seconds: f64| Duration::from_secs_f64(seconds).as_micros() as u64;
    performance.elapsed = Duration::from_secs_f64(run.run_s);
    // The switches of the virtual machine say nothing about those of the program.
    performance.usage = Usage {
        user_us: microseconds(run.user_s),
        system_us: microseconds(run.system_s),
        ..Usage::default()
    };
    let is_translated = run.is_translated();
    let GuestRun { kernel: release, accelerator, cpus, boot_s, .. } = run;
    Some(PastBoot { release, accelerator, cpus, boot_s, is_translated })
}
