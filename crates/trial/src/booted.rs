//! A run on another kernel: one boot of a virtual machine for each run, by `unspin vm`.
//!
//! Times are those that the guest takes. The boot, which takes longer than most programs, is not among them.

use super::ending::RunEnd;
use super::performance::Performance;
use super::scheduled::PastScheduler;
use serde::Serialize;
use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use unspin_launch::command::lab;
use unspin_launch::error::Error;
use unspin_launch::scheduler::{Enabled, Reach, SchedulerCommand};
use unspin_results::{GuestRun, ScheduledBy};
use unspin_sys::child::Usage;
use unspin_sys::printable;

/// Options of `unspin vm` that a session gives itself.
const GIVEN: [&str; 5] = ["--kernel", "--scheduler", "--json", "--quiet", "-q"];

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
    /// The scheduler that was loaded in it; none for the kernel's own.
    #[serde(skip)]
    pub scheduler: Option<ScheduledBy>,
}

impl PastBoot {
    /// Whether a translator executed the instructions.
    pub fn is_translated(&self) -> bool {
        self.is_translated
    }

    /// What is known of the scheduler.
    pub fn past_scheduler(&self) -> PastScheduler {
        let Some(ScheduledBy { ops, reach, cpu_s }) = &self.scheduler else {
            return PastScheduler::default();
        };
        let reach = Reach::named(reach).unwrap_or(Reach::Program);
        let enabled = Some(Enabled { ops: ops.clone(), reach, sequence: None });
        PastScheduler { enabled, cpu_s: *cpu_s, ..PastScheduler::default() }
    }

    /// "2 CPUs by tcg".
    fn machine(&self) -> String {
        format!("{} CPUs by {}", self.cpus, self.accelerator)
    }
}

impl GuestKernel {
    /// Splits options as the shell does. Those that the session itself gives are refused.
    pub fn options_of(line: &str) -> Result<Vec<OsString>, Error> {
        let wrong = |what: String| Error::Usage(format!("--vm-options '{line}': {what}"));
        let words = shell_words::split(line).map_err(|_| wrong("a quote is not closed: close it".into()))?;
        let is_given = |word: &&String| GIVEN.contains(&word.split('=').next().unwrap_or_default());
        if let Some(word) = words.iter().find(is_given) {
            return Err(wrong(format!("{word} is for prove itself: leave it out, or give it to prove")));
        }
        // Else the program would be an argument of this one.
        let stray = words.first().filter(|word| !word.starts_with('-'));
        if let Some(word) = words.iter().find(|word| *word == "--").or(stray) {
            return Err(wrong(format!(
                "'{word}' is no option: the program stands behind the options of prove"
            )));
        }
        Ok(words.into_iter().map(OsString::from).collect())
    }

    /// The command that boots the kernel, runs `program` in it, and writes what it has measured to `result`.
    pub fn command(
        &self,
        program: &Command,
        scheduler: Option<&SchedulerCommand>,
        result: &Path,
    ) -> Result<Command, Error> {
        // The file of the last run.
        let _ = fs::remove_file(result);
        let mut command = Command::new(lab::find(lab::VM)?);
        command.args([lab::VM, "--quiet", "--kernel", &self.name, "--json"]).arg(result).args(&self.options);
        if let Some(scheduler) = scheduler {
            command.arg("--scheduler").arg(&scheduler.line);
        }
        command.arg("--").arg(program.get_program()).args(program.get_args());
        Ok(command)
    }
}

/// The first boots of a session, to which the further ones must be alike.
#[derive(Default)]
pub struct Boots(RefCell<Vec<(GuestKernel, PastBoot)>>);

impl Boots {
    /// Puts the guest's times in the place of those of the virtual machine. Returns none if the virtual machine has not run the command
    /// to its end, or was not like the earlier ones; then the run has failed. An error is one that no further boot mends.
    pub fn take(
        &self,
        kernel: &GuestKernel,
        performance: &mut Performance,
        result: &Path,
    ) -> Result<Option<PastBoot>, Error> {
        let Some(boot) = take_guests_times(performance, result)? else { return Ok(None) };
        let difference = self.difference(kernel, &boot);
        Ok(match difference {
            None => Some(boot),
            Some(_) => {
                performance.failure = difference;
                None
            }
        })
    }

    /// In what a boot differs from the earlier ones. A name like `cloud` may stand for another version meanwhile, and KVM may fail.
    fn difference(&self, kernel: &GuestKernel, boot: &PastBoot) -> Option<String> {
        let mut firsts = self.0.borrow_mut();
        let name = &kernel.name;
        if let Some((_, first)) =
            firsts.iter().find(|(of, first)| of == kernel && first.release != boot.release)
        {
            let (earlier, now) = (&first.release, &boot.release);
            return Some(format!("the virtual machine booted Linux {now} for {name}, and {earlier} before"));
        }
        let other = firsts.iter().find(|(_, first)| first.machine() != boot.machine());
        if let Some((other, first)) = other {
            let (earlier, now) = (first.machine(), boot.machine());
            return Some(format!(
                "the virtual machine of {name} had {now}, and that of {} {earlier}",
                other.name
            ));
        }
        if !firsts.iter().any(|(of, _)| of == kernel) {
            firsts.push((kernel.clone(), boot.clone()));
        }
        None
    }
}

/// Bytes of the output's end in which the virtual machine's own error is looked for.
const OUTPUT_MAX: u64 = 64 << 10;

/// Why a virtual machine that has left no result has failed, as it says itself. The program writes to the same standard error, but
/// earlier.
enum OwnError {
    /// The kernel, a file, an option or the program does not exist, or cannot be executed. Nothing was booted, and no further boot
    /// mends that.
    Refused(Error),
    /// The run has failed.
    Failed(String),
}

/// The beginning of errors that the guest has found.
const IN_THE_GUEST: &str = "in the virtual machine";

impl OwnError {
    /// None if it did not end by itself. `errors` is its standard error, in which the lines that it quotes are indented.
    fn of(ending: RunEnd, errors: &str) -> Option<OwnError> {
        let RunEnd::Exited { code } = ending else { return None };
        let line = errors.lines().filter_map(|line| line.strip_prefix("unspin: ")).next_back()?;
        let why = printable::line(line).into_owned();
        match code {
            125 => Some(OwnError::Failed(why)),
            126 if why.starts_with(IN_THE_GUEST) => Some(OwnError::Failed(why)),
            126 => Some(OwnError::Refused(Error::CannotRun(why))),
            127 => Some(OwnError::Refused(Error::NotFound(why))),
            2 => Some(OwnError::Refused(Error::Usage(why))),
            _ => None,
        }
    }
}

/// Puts the guest's times in the place of those of the virtual machine. Returns none if the virtual machine has not run the command to
/// its end; then the run has failed.
fn take_guests_times(performance: &mut Performance, result: &Path) -> Result<Option<PastBoot>, Error> {
    let Some(run) = fs::read_to_string(result).ok().and_then(|json| GuestRun::parse(&json)) else {
        let ended = performance.failure.take().unwrap_or_else(|| "it has left no result".into());
        let how = match OwnError::of(performance.ending, &performance.figures.errors(OUTPUT_MAX)) {
            Some(OwnError::Refused(error)) => return Err(error),
            Some(OwnError::Failed(why)) => why,
            None => ended,
        };
        performance.failure = Some(format!("the virtual machine did not run the program to its end: {how}"));
        return Ok(None);
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
    let GuestRun { kernel: release, accelerator, cpus, boot_s, scheduler, .. } = run;
    Ok(Some(PastBoot { release, accelerator, cpus, boot_s, is_translated, scheduler }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_results::VM_SCHEMA;

    fn performance(failure: Option<&str>) -> Performance {
        Performance { failure: failure.map(str::to_owned), ..Performance::without_run().unwrap() }
    }

    #[test]
    fn guests_times_are_those_of_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let result = folder.path().join("vm.json");
        let run = GuestRun {
            schema: VM_SCHEMA.into(),
            kernel: "7.3.4".into(),
            accelerator: "tcg".into(),
            cpus: 2,
            memory_bytes: 1 << 30,
            code: 0,
            boot_s: 4.0,
            run_s: 0.5,
            user_s: 0.25,
            system_s: 0.125,
            scheduler: Some(ScheduledBy { ops: "mq".into(), reach: "machine".into(), cpu_s: 0.5 }),
        };
        fs::write(&result, serde_json::to_string(&run).unwrap()).unwrap();
        let mut taken = performance(None);
        let boot = take_guests_times(&mut taken, &result).unwrap().unwrap();
        assert_eq!((boot.release.as_str(), boot.is_translated()), ("7.3.4", true));
        assert_eq!((taken.elapsed, taken.usage.user_us), (Duration::from_millis(500), 250_000));
        assert_eq!((taken.usage.system_us, taken.failure), (125_000, None));
        let scheduler = boot.past_scheduler();
        assert_eq!(
            (scheduler.enabled.unwrap().to_string(), scheduler.cpu_s),
            ("sched_ext mq, all tasks of the machine".into(), 0.5)
        );
    }

    #[test]
    fn own_error_is_the_line_above_those_that_it_quotes() {
        let of = |ending, errors: &str| match OwnError::of(ending, errors)? {
            OwnError::Refused(error) => Some((error.code(), error.to_string())),
            OwnError::Failed(why) => Some((0, why)),
        };
        let exited = |code| RunEnd::Exited { code };
        let failed = "in the virtual machine: it went back; the end:";
        let output = format!("unspin: vm: KVM fails here\nx\nunspin: {failed}\n  | unspin: a\n  | b\n");
        for code in [125, 126] {
            assert_eq!(
                of(exited(code), &output),
                Some((0, failed.into())),
                "the next boot may be a better one"
            );
        }
        assert_eq!(of(exited(125), "unspin: a panic\n"), Some((0, "a panic".into())));
        for code in [2, 126, 127] {
            assert_eq!(of(exited(code.into()), "unspin: why\n"), Some((code, "why".into())));
        }
        // The program's words.
        assert_eq!(of(exited(125), "x\n"), None);
        let ended = [RunEnd::Killed { signal: 9 }, RunEnd::TimedOut { limit_s: 1.0, hung: false }, exited(1)];
        assert!(ended.into_iter().all(|ending| of(ending, "unspin: a notice\n").is_none()));
    }

    #[test]
    fn options_of_the_session_are_refused() {
        assert_eq!(GuestKernel::options_of("--cpus 4 --file 'a b'").unwrap().len(), 4);
        let refused = |options: &str| GuestKernel::options_of(options).unwrap_err().to_string();
        for given in ["--cpus 4 --kernel rt", "--scheduler=x", "--json x", "--quiet", "-q"] {
            assert!(refused(given).contains("is for prove itself"), "{given}");
        }
        for command in ["true", "--cpus 4 -- true"] {
            assert!(refused(command).contains("is no option"), "{command}");
        }
    }

    #[test]
    fn virtual_machine_without_a_result_has_failed() {
        let nowhere = Path::new("/nowhere/vm.json");
        let mut failed = performance(Some("it ended with exit code 125"));
        assert_eq!(take_guests_times(&mut failed, nowhere).unwrap(), None);
        let why = "the virtual machine did not run the program to its end: it ended with exit code 125";
        assert_eq!(failed.failure.as_deref(), Some(why));
        let mut silent = performance(None);
        assert_eq!(take_guests_times(&mut silent, nowhere).unwrap(), None);
        assert!(silent.failure.is_some());
    }

    #[test]
    fn boots_of_a_session_must_be_alike() {
        let boots = Boots::default();
        let kernel = |name: &str| GuestKernel { name: name.into(), options: Vec::new() };
        let boot = |release: &str, accelerator: &str, cpus| PastBoot {
            release: release.into(),
            accelerator: accelerator.into(),
            cpus,
            boot_s: 4.0,
            is_translated: true,
            scheduler: None,
        };
        let difference =
            |name: &str, boot: &PastBoot| boots.difference(&kernel(name), boot).unwrap_or_default();
        assert_eq!(difference("cloud", &boot("7.3", "kvm", 2)), "");
        assert_eq!(difference("rt", &boot("7.4", "kvm", 2)), "");
        assert_eq!(difference("cloud", &boot("7.3", "kvm", 2)), "");
        let said = "the virtual machine booted Linux 7.4 for cloud, and 7.3 before";
        assert_eq!(difference("cloud", &boot("7.4", "kvm", 2)), said);
        let said = "the virtual machine of rt had 2 CPUs by tcg, and that of cloud 2 CPUs by kvm";
        assert_eq!(difference("rt", &boot("7.4", "tcg", 2)), said);
        let said = "the virtual machine of plain had 4 CPUs by kvm, and that of cloud 2 CPUs by kvm";
        assert_eq!(difference("plain", &boot("7.3", "kvm", 4)), said);
    }

    #[test]
    fn command_boots_the_kernel_with_the_options() {
        let options = GuestKernel::options_of("--cpus 4 --file 'a b'").unwrap();
        assert_eq!(options, ["--cpus", "4", "--file", "a b"]);
        assert!(
            GuestKernel::options_of("--file 'a").unwrap_err().to_string().contains("a quote is not closed")
        );
    }
}
