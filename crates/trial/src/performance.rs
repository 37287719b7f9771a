//! What one run of a program shows, before it is judged.

use super::attended::{Attended, SLICE};
use super::ending::{Limit, RunEnd};
use super::hang::HangDetector;
use super::interrupt::Interrupt;
use super::leftovers::{self, Leftovers};
use super::monitor::RunMonitor;
use super::progress::Progress;
use super::scheduled::Scheduled;
use std::process::Command;
use std::time::{Duration, Instant};
use unspin_launch::error::Error;
use unspin_launch::output::captured::CapturedOutput;
use unspin_sys::child::Usage;

/// What was measured in a run.
pub struct Performance {
    /// Duration of the timed part: the program, or the load of a server.
    pub elapsed: Duration,
    /// Duration of the whole run, including a server's start and stop.
    pub whole: Duration,
    /// How it ended.
    pub ending: RunEnd,
    /// Why it has no figure, if it failed.
    pub failure: Option<String>,
    /// Usage of the program and its children; for a server, only during the load.
    pub usage: Usage,
    /// CPU time of everything that the run started, in seconds.
    pub all_cpu_s: f64,
    /// The output in which the figure is searched for.
    pub figures: CapturedOutput,
    /// The output that explains a failure, if `figures` does not.
    pub explanation: Option<CapturedOutput>,
    /// The time until the processes that it left behind had ended.
    pub cleared: Duration,
    /// Processes that it left behind, which were ended.
    pub left_processes: u32,
}

/// What a run reports to, and what can end it.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Set by ^C.
    pub interrupt: &'a Interrupt,
    /// Shows what is being done.
    pub progress: &'a Progress,
    /// The kernel's scheduler, if schedulers are compared.
    pub scheduled: Option<&'a Scheduled>,
}

impl Surroundings<'_> {
    /// The scheduler's process, which does not belong to the run.
    pub fn spared(&self) -> Option<u32> {
        self.scheduled.and_then(Scheduled::pid)
    }
}

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

impl Performance {
    /// A run that did not take place, because its scheduler was not loaded.
    pub fn without_run() -> Result<Performance, Error> {
        Ok(Performance {
            elapsed: Duration::ZERO,
            whole: Duration::ZERO,
            ending: RunEnd::NotStarted,
            failure: None,
            usage: Usage::default(),
            all_cpu_s: 0.0,
            figures: CapturedOutput::new()?,
            explanation: None,
            cleared: Duration::ZERO,
            left_processes: 0,
        })
    }
}

/// Runs a program to its end. Returns `None` if ^C ended it.
pub fn of_program(
    command: &mut Command,
    limit: Limit,
    watch: &mut dyn RunMonitor,
    around: Surroundings<'_>,
) -> Result<Option<Performance>, Error> {
    let mut process = Attended::start(command)?;
    let ending = attend(&mut process, limit, watch, around)?;
    let elapsed = process.began.elapsed();
    around.scheduled.inspect(|scheduled| scheduled.finish());
    let began_to_clear = Instant::now();
    let leftovers = clear(Some(process.pid), ending);
    let cleared = began_to_clear.elapsed();
    let Some(ending) = ending else { return Ok(None) };
    let mut usage = process.ended.map(|ended| ended.usage).unwrap_or_default();
    usage += leftovers.usage;
    watch.note_end(Duration::from_secs_f64(usage.cpu_s()));
    Ok(Some(Performance {
        elapsed,
        whole: elapsed,
        ending,
        failure: failure(ending),
        usage,
        all_cpu_s: usage.cpu_s(),
        figures: process.output,
        explanation: None,
        cleared,
        left_processes: leftovers.processes,
    }))
}

/// "it ended with exit code 7".
fn failure(ending: RunEnd) -> Option<String> {
    match ending {
        RunEnd::Killed { signal } => Some(format!("signal {signal} killed it")),
        ending => ending.failure().map(|failure| format!("it {failure}")),
    }
}

/// Waits for the end of the processes that a run has left, and ends those that go on.
pub fn clear(group: Option<u32>, ending: Option<RunEnd>) -> Leftovers {
    let returned = matches!(ending, Some(RunEnd::Exited { .. }));
    leftovers::clear(group, if returned { leftovers::AFTER_RETURN } else { leftovers::AFTER_DEATH })
}

/// Waits until the process has ended. Ends its process group at its limit or at ^C, and returns `None` after ^C.
fn attend(
    process: &mut Attended,
    limit: Limit,
    watch: &mut dyn RunMonitor,
    around: Surroundings<'_>,
) -> Result<Option<RunEnd>, Error> {
    let Surroundings { interrupt, progress, .. } = around;
    // A run with a mere timeout is a first one: its length is not known yet.
    let (is_first, shows_hang) = (matches!(limit, Limit::Timeout(_)), limit.shows_hang());
    let (limit, mut patience) = (limit.after(), progress.patience());
    let mut hang = HangDetector::new(limit, around.spared());
    loop {
        let left = hang.pause(process.began.elapsed());
        let over =
            process.has_ended_within(left.min(SLICE).min(watch.pause()).max(Duration::from_millis(1)))?;
        watch.check(process.pid);
        progress.tick();
        around.scheduled.inspect(|scheduled| scheduled.trim_output());
        let elapsed = process.began.elapsed();
        if is_first && elapsed >= patience {
            progress.still_running(elapsed);
            patience = 2 * elapsed;
        }
        if over && let Some(ended) = process.reap()? {
            return Ok(Some(ended.end.into()));
        }
        if interrupt.has_come() {
            process.end(GRACE, interrupt)?;
            return Ok(None);
        }
        hang.look(elapsed);
        if elapsed >= limit {
            let hung = shows_hang && hang.is_hung();
            process.end(GRACE, interrupt)?;
            return Ok(Some(RunEnd::TimedOut { limit_s: limit.as_secs_f64(), hung }));
        }
    }
}
