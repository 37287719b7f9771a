//! How far a guest has come, and why it has not come further.

use super::console::Console;
use crate::status::{CommandEnd, GuestScheduler, Status};
use std::time::{Duration, Instant};
use unspin_launch::error::Error;

/// Why a guest has not run its command to the end.
#[derive(Debug)]
pub(super) enum BootFailure {
    /// It did not boot. Another accelerator may boot it.
    NotBooted {
        /// The message, with the end of the console.
        error: Error,
        /// A few words on it.
        why: String,
    },
    /// The kernel has met a breakpoint that it had removed, before the command was started. By TCG another boot may not meet it.
    StaleBreakpoint(Error),
    /// The command was started, or nothing can be.
    Other(Error),
}

impl From<BootFailure> for Error {
    fn from(failure: BootFailure) -> Error {
        match failure {
            BootFailure::NotBooted { error, .. }
            | BootFailure::StaleBreakpoint(error)
            | BootFailure::Other(error) => error,
        }
    }
}

/// Few words on KVM where a guest did not boot by it.
pub(super) const FAILED_BOOT: &str = "a boot by KVM has failed";

/// How long the parts of a run may take.
pub(super) struct Limits {
    pub boot: Duration,
    /// None for any time.
    pub run: Option<Duration>,
}

/// A command that has run to its end.
pub(super) struct Finished {
    pub end: CommandEnd,
    pub scheduler: Option<GuestScheduler>,
    pub boot: Duration,
    pub console: String,
}

/// What qemu says when KVM gives up. It then waits for a debugger.
const KVM_ERROR: &str = "KVM internal error";
/// What the guest's kernel says where TCG has executed a breakpoint that the kernel had removed from its code again, on another CPU.
const STALE_BREAKPOINT: &str = "Oops: int3";

/// Where bytes come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Console,
    Stdout,
    Stderr,
    Status,
    /// Messages of qemu itself.
    Qemu,
}

/// What has come of one of the command's outputs.
#[derive(Default)]
pub(super) struct Passed {
    pub bytes: u64,
    /// Whether its reader is gone: no more will come.
    pub is_closed: bool,
}

impl Passed {
    fn has_all(&self, bytes: u64) -> bool {
        self.is_closed || self.bytes >= bytes
    }
}

/// What has come from a guest so far.
#[derive(Default)]
pub(super) struct Progress {
    pub stdout: Passed,
    pub stderr: Passed,
    console: Console,
    /// Messages of qemu.
    qemu: String,
    /// The part of a status line that has come.
    line: Vec<u8>,
    /// Whether the guest has said that it has booted.
    has_booted: bool,
    /// The time until the command was started.
    boot: Option<Duration>,
    end: Option<CommandEnd>,
    refused: Option<String>,
    unscheduled: Option<String>,
    scheduler: Option<GuestScheduler>,
}

/// How far a guest has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    Boots,
    /// The scheduler is started.
    Schedules,
    Runs,
    /// The command has ended, or is not started.
    Ended,
}

/// Why nothing more is expected from a guest.
pub(super) enum Why<'l> {
    Timeout(&'l Limits),
    QemuEnded,
}

impl Progress {
    /// How far the guest has come.
    pub fn stage(&self) -> Stage {
        if self.end.is_some() || self.refused.is_some() || self.unscheduled.is_some() {
            return Stage::Ended;
        }
        match (self.has_started(), self.has_booted) {
            (true, _) => Stage::Runs,
            (false, true) => Stage::Schedules,
            (false, false) => Stage::Boots,
        }
    }

    /// Whether the command was started. Its output comes by another way than the line that says so.
    fn has_started(&self) -> bool {
        self.boot.is_some() || self.stdout.bytes + self.stderr.bytes > 0
    }

    /// Whether the command has ended, and all of its output has come.
    pub fn is_complete(&self) -> bool {
        let has_all = |end: CommandEnd| self.stdout.has_all(end.stdout) && self.stderr.has_all(end.stderr);
        self.end.is_some_and(has_all)
    }

    /// Takes what has come from the guest, or from qemu.
    pub fn take(&mut self, source: Source, bytes: &[u8], started: Instant) {
        match source {
            Source::Console => self.console.push(bytes),
            Source::Qemu => self.qemu += &String::from_utf8_lossy(bytes),
            Source::Status => {
                self.line.extend_from_slice(bytes);
                while let Some(end) = self.line.iter().position(|&byte| byte == b'\n') {
                    let line: Vec<u8> = self.line.drain(..=end).collect();
                    self.note(&String::from_utf8_lossy(&line[..end]), started);
                }
            }
            Source::Stdout | Source::Stderr => {}
        }
    }

    fn note(&mut self, line: &str, started: Instant) {
        match Status::parse(line) {
            Some(Status::Booted) => self.has_booted = true,
            Some(Status::Started) => self.boot = Some(started.elapsed()),
            Some(Status::Ended(end)) => self.end = Some(end),
            Some(Status::Refused(why)) => self.refused = Some(why),
            Some(Status::Unscheduled(why)) => self.unscheduled = Some(why),
            Some(Status::Scheduled(scheduler)) => self.scheduler = Some(scheduler),
            None => {}
        }
    }

    /// The result, or the error that tells why there is none.
    pub fn finish(self, why: Why<'_>) -> Result<Finished, BootFailure> {
        if let Some(end) = self.end {
            if !self.is_complete() {
                let lost = "the virtual machine ended before all output of its command had come; the end of its console:";
                return Err(BootFailure::Other(Error::Environment(format!("{lost}{}", self.quoted()))));
            }
            if let Some(why) = self.unscheduled {
                let text = format!("in the virtual machine (the command's exit code is {}): {why}", end.code);
                return Err(BootFailure::Other(Error::Environment(text)));
            }
            let (boot, console) = (self.boot.unwrap_or_default(), self.console.text());
            return Ok(Finished { end, scheduler: self.scheduler, boot, console });
        }
        if let Some(why) = self.unscheduled {
            return Err(BootFailure::Other(Error::Environment(format!("in the virtual machine: {why}"))));
        }
        if let Some(refused) = self.refused {
            return Err(BootFailure::Other(Error::CannotRun(format!("in the virtual machine: {refused}"))));
        }
        let error = Error::Environment(format!("{}{}", self.reason(&why), self.quoted()));
        let is_fault_of_tcg = self.console.panic().is_some_and(|panic| panic.contains(STALE_BREAKPOINT));
        Err(match (self.has_started(), self.has_booted) {
            (false, _) if is_fault_of_tcg => BootFailure::StaleBreakpoint(error),
            (false, false) => BootFailure::NotBooted { error, why: FAILED_BOOT.into() },
            _ => BootFailure::Other(error),
        })
    }

    /// One line on why the command has not ended.
    fn reason(&self, why: &Why<'_>) -> String {
        if let Some(panic) = self.console.panic() {
            return format!(
                "the kernel of the virtual machine has panicked: {panic}; the end of its console:"
            );
        }
        let has_started = self.has_started();
        match why {
            Why::Timeout(limits) if has_started => format!(
                "the command in the virtual machine ran longer than {} s: raise --time-limit; the end of its console:",
                limits.run.unwrap_or_default().as_secs_f64()
            ),
            Why::Timeout(_) if self.has_booted => {
                "the scheduler in the virtual machine was neither enabled nor given up: wait until this machine is less busy; the end of \
                 the console:"
                    .into()
            }
            Why::Timeout(limits) => format!(
                "the virtual machine did not boot within {} s: try another --kernel, or wait until this machine is less busy; \
                 the end of its console:",
                limits.boot.as_secs()
            ),
            Why::QemuEnded if has_started => {
                "the virtual machine ended before its command: the command may have rebooted it; the end of its console:".into()
            }
            Why::QemuEnded if self.has_booted => {
                "the virtual machine ended while it loaded the scheduler: try another one, or another --kernel; the end of its console:".into()
            }
            Why::QemuEnded if self.console.text().is_empty() => "qemu cannot boot the virtual machine; it says:".into(),
            Why::QemuEnded => {
                "the virtual machine ended before it had started the command: try another --kernel, or more --memory; the end \
                 of its console:"
                    .into()
            }
        }
    }

    /// What the message quotes: the console, or qemu's words where the console is empty.
    fn quoted(&self) -> String {
        let said = self.qemu.trim();
        if !self.console.text().is_empty() || said.is_empty() {
            return self.console.quote();
        }
        let mut console = Console::default();
        console.push(said.as_bytes());
        console.quote()
    }

    /// Whether KVM has given up.
    pub fn has_kvm_error(&self) -> bool {
        self.qemu.contains(KVM_ERROR)
    }

    /// What it means that KVM has given up: another accelerator may boot the guest. A command that was started is not run again.
    pub fn kvm_error(&self) -> BootFailure {
        let line = self.qemu.lines().find(|line| line.contains(KVM_ERROR)).unwrap_or(KVM_ERROR);
        let why = format!("KVM fails here ({})", line.trim());
        let error = Error::Environment(format!("{why}: use --accel tcg"));
        match self.has_started() {
            true => BootFailure::Other(error),
            false => BootFailure::NotBooted { error, why },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { boot: Duration::from_secs(9), run: Some(Duration::from_secs(3)) };

    fn progress(pieces: &[(Source, &str)]) -> Progress {
        let mut progress = Progress::default();
        for (source, text) in pieces {
            progress.take(*source, text.as_bytes(), Instant::now());
        }
        progress
    }

    #[test]
    fn status_lines_are_read_in_pieces() {
        let mut guest = progress(&[(Source::Status, "star"), (Source::Status, "ted\nend")]);
        assert_eq!(guest.stage(), Stage::Runs);
        guest.take(Source::Status, b"ed 7 1000 300 200 0 0\n", Instant::now());
        assert_eq!(guest.stage(), Stage::Ended);
        let Ok(finished) = guest.finish(Why::QemuEnded) else { panic!("it has ended") };
        assert_eq!((finished.end.code, finished.end.wall), (7, Duration::from_millis(1)));
    }

    #[test]
    fn end_is_complete_when_all_output_has_come() {
        let mut guest = progress(&[(Source::Status, "started\nended 0 1 1 1 10 5\n")]);
        guest.stdout.bytes = 10;
        guest.stderr.bytes = 4;
        assert!(!guest.is_complete());
        guest.stderr.is_closed = true;
        assert!(guest.is_complete());
        let (_, text) = error(&[(Source::Status, "started\nended 0 1 1 1 10 5\n")], Why::QemuEnded);
        assert!(
            text.starts_with("the virtual machine ended before all output of its command had come"),
            "{text}"
        );
    }

    fn error(pieces: &[(Source, &str)], why: Why<'_>) -> (bool, String) {
        match progress(pieces).finish(why) {
            Err(BootFailure::NotBooted { error, .. }) => (true, error.to_string()),
            Err(BootFailure::StaleBreakpoint(error) | BootFailure::Other(error)) => {
                (false, error.to_string())
            }
            Ok(_) => panic!("it has not ended"),
        }
    }

    #[test]
    fn failed_boot_is_told_with_the_console() {
        let (may_retry, text) = error(&[(Source::Console, "Linux 7\n")], Why::Timeout(&LIMITS));
        assert!(may_retry && text.starts_with("the virtual machine did not boot within 9 s: "), "{text}");
        assert!(text.ends_with("\n  | Linux 7"), "{text}");
        let (may_retry, text) = error(&[(Source::Qemu, "qemu: bad option\n")], Why::QemuEnded);
        assert!(may_retry, "{text}");
        assert_eq!(text, "qemu cannot boot the virtual machine; it says:\n  | qemu: bad option");
    }

    #[test]
    fn panic_and_time_limit_are_told_of_a_command_that_ran() {
        let panic = "[ 1.0] Kernel panic - not syncing: oops\n";
        let (may_retry, text) =
            error(&[(Source::Status, "started\n"), (Source::Console, panic)], Why::QemuEnded);
        assert!(!may_retry && text.contains("has panicked: Kernel panic - not syncing: oops;"), "{text}");
        let (may_retry, text) = error(&[(Source::Status, "started\n")], Why::Timeout(&LIMITS));
        assert!(!may_retry && text.contains("longer than 3 s: raise --time-limit"), "{text}");
        let (_, text) = error(&[(Source::Status, "refused sh: no such file\n")], Why::QemuEnded);
        assert_eq!(text, "in the virtual machine: sh: no such file");
    }

    #[test]
    fn stale_breakpoint_is_a_fault_of_tcg_until_the_command_is_started() {
        let is_fault = |oops: &str, before: (Source, &str)| {
            let console = format!(
                "[ 2.0] Oops: {oops}: 0000 [#1] SMP\n[ 2.1] Kernel panic - not syncing: Fatal exception\n"
            );
            let result = progress(&[before, (Source::Console, &console)]).finish(Why::QemuEnded);
            matches!(result, Err(BootFailure::StaleBreakpoint(_)))
        };
        assert!(is_fault("int3", (Source::Status, "")) && is_fault("int3", (Source::Status, "booted\n")));
        assert!(!is_fault("int3", (Source::Status, "booted\nstarted\n")));
        assert!(!is_fault("invalid opcode", (Source::Status, "")));
        let mut progress = progress(&[(Source::Console, "Oops: int3\nKernel panic - not syncing: x\n")]);
        progress.stdout.bytes = 1;
        assert!(
            matches!(progress.finish(Why::QemuEnded), Err(BootFailure::Other(_))),
            "it has written something"
        );
    }

    #[test]
    fn scheduler_that_has_not_lasted_is_told_when_all_output_has_come() {
        let lines = "booted\nstarted\nunscheduled the scheduler 'x' ended\nended 7 1 1 1 10 0\n";
        let mut guest = progress(&[(Source::Status, lines)]);
        assert!(!guest.is_complete());
        guest.stdout.bytes = 10;
        assert!(guest.is_complete());
        let Err(BootFailure::Other(error)) = guest.finish(Why::QemuEnded) else { panic!("it did not last") };
        assert_eq!(
            error.to_string(),
            "in the virtual machine (the command's exit code is 7): the scheduler 'x' ended"
        );
        let (may_retry, text) = self::error(&[(Source::Status, "booted\n")], Why::Timeout(&LIMITS));
        assert!(
            !may_retry && text.starts_with("the scheduler in the virtual machine was neither enabled"),
            "{text}"
        );
    }

    #[test]
    fn error_of_kvm_is_told_in_a_few_words() {
        let progress = progress(&[(Source::Qemu, "KVM internal error. Suberror: 1\nRAX=0\n")]);
        let BootFailure::NotBooted { error, why } = progress.kvm_error() else { panic!("TCG may boot it") };
        assert_eq!(why, "KVM fails here (KVM internal error. Suberror: 1)");
        assert_eq!(error.to_string(), format!("{why}: use --accel tcg"));
        let progress =
            self::progress(&[(Source::Status, "started\n"), (Source::Qemu, "KVM internal error.\n")]);
        assert!(matches!(progress.kvm_error(), BootFailure::Other(_)), "the command has run");
    }
}
