//! The process of a scheduler, from its start until the kernel schedules by its own scheduler again.

use super::command::SchedulerCommand;
use super::enabled::Enabled;
use super::sched_ext::{LOOK, SchedExt, State};
use crate::error::Error;
use crate::library::environment;
use crate::output::captured::{CapturedOutput, with_output};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use unspin_sys::child::{self, End, Ended, Signal, Usage};
use unspin_sys::{inherited, keeper};

/// Time for a scheduler whose BPF program the kernel has evicted to print why, and to end.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Time for the kernel to unload a scheduler: each task of the machine goes back to the kernel's own.
const UNLOAD_LIMIT: Duration = Duration::from_secs(30);
/// What is wrong with a scheduler that is not enabled.
const REMEDY: &str = "it must load a sched_ext scheduler and keep running";
/// SIGINT, by which most schedulers end.
const INTERRUPT: Signal = Signal::PassedOn(2);
/// The signals that end a scheduler, each with the time that it has afterwards. SIGKILL is for all that it has started.
const ENDING: [(Signal, Duration); 3] = [
    (INTERRUPT, Duration::from_secs(5)),
    (Signal::Terminate, Duration::from_secs(5)),
    (Signal::Kill, Duration::from_secs(30)),
];

/// A scheduler that the kernel has enabled, and its process.
pub struct Scheduler {
    line: String,
    kernel: SchedExt,
    enabled: Enabled,
    kept: Kept,
}

/// Why no scheduler was started.
#[derive(Debug)]
pub enum StartFailure {
    /// The wait was given up.
    GivenUp,
    /// The scheduler has not become enabled.
    Failed {
        /// Why.
        reason: String,
        /// The end of its output.
        output: String,
    },
    /// There is no such command, or the kernel cannot load any scheduler now.
    Error(Error),
}

impl StartFailure {
    /// As an error, with the scheduler's last lines. `given_up` says what to report where the wait was given up.
    pub fn into_error(self, given_up: &str) -> Error {
        match self {
            StartFailure::GivenUp => Error::Environment(given_up.to_owned()),
            StartFailure::Failed { reason, output } => Error::Environment(with_output(reason, &output)),
            StartFailure::Error(error) => error,
        }
    }
}

/// A scheduler that has ended.
pub struct Stopped {
    /// What its process has used.
    pub usage: Usage,
    /// Why the kernel has not gone back to its own scheduler; none if it has.
    pub failure: Option<String>,
    /// The end of its output.
    pub output: String,
}

impl Scheduler {
    /// Starts a scheduler, and waits until the kernel says that it is enabled. Gives up when `is_given_up` returns true. The thread
    /// that calls must live as long as the scheduler.
    pub fn start(
        command: &SchedulerCommand,
        kernel: &SchedExt,
        is_given_up: &dyn Fn() -> bool,
    ) -> Result<Scheduler, StartFailure> {
        Scheduler::start_process(command.process(), &command.line, kernel, is_given_up)
    }

    /// The same for a process with a working folder and an environment of its own. `line` is what messages call it.
    pub fn start_process(
        process: Command,
        line: &str,
        kernel: &SchedExt,
        is_given_up: &dyn Fn() -> bool,
    ) -> Result<Scheduler, StartFailure> {
        kernel.expect_free(UNLOAD_LIMIT).map_err(StartFailure::Error)?;
        let before = kernel.sequence();
        let mut kept = Kept::start(process, line).map_err(StartFailure::Error)?;
        let (began, limit) = (Instant::now(), kernel.start_limit());
        let reason = loop {
            match kernel.state() {
                // The kernel raises the number after it has changed the state: one that is still the same is not this scheduler's.
                State::Enabled(enabled) if before.is_none() || enabled.sequence > before => {
                    return Ok(Scheduler { line: line.to_owned(), kernel: kernel.clone(), enabled, kept });
                }
                _ => {}
            }
            if let Some(ended) = kept.has_ended_within(LOOK) {
                let reason = format!("the scheduler '{line}' {} before it was enabled", how(ended.end));
                // Otherwise its own last lines say what is wrong.
                break if kept.output.tail().is_empty() { format!("{reason}: {REMEDY}") } else { reason };
            }
            if is_given_up() {
                return Err(StartFailure::GivenUp);
            }
            if began.elapsed() >= limit {
                let seconds = limit.as_secs_f64();
                break format!("the scheduler '{line}' was not enabled after {seconds} s: {REMEDY}");
            }
        };
        Err(StartFailure::Failed { reason, output: kept.output.tail() })
    }

    /// The process under which the scheduler runs.
    pub fn pid(&self) -> u32 {
        self.kept.pid
    }

    /// Takes how its process has ended, from a caller that waits for all of its children.
    pub fn take_end(&mut self, ended: Ended) {
        self.kept.ended = Some(ended);
    }

    /// What the kernel has enabled.
    pub fn enabled(&self) -> &Enabled {
        &self.enabled
    }

    /// Why the scheduler has not scheduled the whole time until now; none if it has.
    pub fn loss(&mut self) -> Option<String> {
        let Scheduler { line, kernel, enabled, kept } = self;
        let ops = &enabled.ops;
        let loss = match kernel.state() {
            State::Enabled(now) if now == *enabled => None,
            State::Enabled(now) if now.ops == *ops => {
                Some(format!("the scheduler '{line}' ({ops}) was unloaded and loaded again during the run"))
            }
            State::Enabled(now) => {
                Some(format!("the scheduler {} took the place of '{line}' ({ops}) during the run", now.ops))
            }
            State::Disabled | State::Missing | State::Changing(_) => Some(format!(
                "the kernel went back to its own scheduler during the run, from '{line}' ({ops})"
            )),
        };
        let patience = if loss.is_some() { LAST_WORDS } else { Duration::ZERO };
        match (kept.has_ended_within(patience), loss) {
            (None, loss) => loss,
            (Some(ended), None) => {
                Some(format!("the scheduler '{line}' ({ops}) {} during the run", how(ended.end)))
            }
            (Some(ended), Some(loss)) => Some(format!("{loss}; the scheduler {}", how(ended.end))),
        }
    }

    /// Gives back the space of output that will not be read. To be called while the program runs.
    pub fn trim_output(&self) {
        self.kept.output.trim();
    }

    /// Ends the scheduler, and waits until the kernel has unloaded it. Whenever `is_hurried` returns true, the scheduler gets its next
    /// signal at once.
    pub fn stop(mut self, is_hurried: &mut dyn FnMut() -> bool) -> Stopped {
        self.kept.end(is_hurried);
        let failure = match self.wait_until_unloaded() {
            State::Disabled | State::Missing => None,
            _ => Some(format!(
                "the kernel still has a scheduler {} s after the end of '{}': end the process that has loaded it",
                UNLOAD_LIMIT.as_secs(),
                self.line
            )),
        };
        let usage = self.kept.ended.map(|ended| ended.usage).unwrap_or_default();
        Stopped { usage, failure, output: self.kept.output.tail() }
    }

    /// Another scheduler that is enabled meanwhile is a state like `disabled`: this one is unloaded.
    fn wait_until_unloaded(&self) -> State {
        let began = Instant::now();
        loop {
            match self.kernel.state() {
                State::Enabled(now) if now != self.enabled => return State::Disabled,
                State::Enabled(_) | State::Changing(_) if began.elapsed() < UNLOAD_LIMIT => {
                    std::thread::sleep(LOOK)
                }
                state => return state,
            }
        }
    }
}

/// The process that loads a scheduler, under a keeper: what the process has started ends with unspin, too.
struct Kept {
    /// The keeper's pid, which is the number of the process group.
    pid: u32,
    ended: Option<Ended>,
    output: CapturedOutput,
}

impl Kept {
    fn start(mut process: Command, line: &str) -> Result<Kept, Error> {
        let output = CapturedOutput::new()?;
        process.stdin(Stdio::null()).stdout(output.stdout()?).stderr(output.stderr()?);
        environment::clear(&mut process);
        inherited::hand_on_signals(&mut process);
        let started = keeper::keep(&mut process).spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                let name = process.get_program().to_string_lossy();
                Error::NotFound(format!("--scheduler '{line}': there is no command {name}"))
            }
            _ => Error::not_started(Path::new(process.get_program()), &error),
        })?;
        Ok(Kept { pid: started.id(), ended: None, output })
    }

    /// How it has ended; none if it still runs after this time.
    fn has_ended_within(&mut self, time: Duration) -> Option<Ended> {
        if self.ended.is_none() {
            self.output.trim();
            // If the caller waits for all of its children meanwhile, it has collected this one, and how it ended is lost.
            let lost = Ended { pid: self.pid, end: End::Exited(0), usage: Usage::default() };
            self.ended = child::wait_for(self.pid, time).unwrap_or(Some(lost));
        }
        self.ended
    }

    /// Ends it and all that it has started.
    fn end(&mut self, is_hurried: &mut dyn FnMut() -> bool) {
        for (signal, time) in ENDING {
            if self.ended.is_some() {
                break;
            }
            let _ = match signal {
                Signal::Kill => keeper::end_all(self.pid),
                asked => keeper::ask_to_end(self.pid, asked),
            };
            let until = Instant::now() + time;
            // A signal to unspin ends a wait early.
            while self.has_ended_within(until.saturating_duration_since(Instant::now())).is_none()
                && Instant::now() < until
                && !is_hurried()
            {}
        }
        // The keeper ends after all of its descendants, unless a signal has killed it. Without one of them in the group, the number may
        // be that of another group by now.
        if self.ended.is_some_and(|ended| matches!(ended.end, End::Killed(_))) {
            let _ = child::signal_group(self.pid, Signal::Kill);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.end(&mut || false);
    }
}

/// "ended with exit code 1". The keeper ends with 128 + n if signal n killed the scheduler.
fn how(end: End) -> String {
    match end {
        End::Exited(code @ 129..=192) => {
            format!("ended with exit code {code} (signal {} killed it)", code - 128)
        }
        End::Exited(code) => format!("ended with exit code {code}"),
        End::Killed(signal) => format!("was killed by signal {signal}"),
    }
}
