//! A run under a scheduler of the kernel: the scheduler is started before the program, and ended after it.

use super::interrupt::Interrupt;
use std::cell::RefCell;
use std::time::{Duration, Instant};
use unspin_launch::error::Error;
use unspin_launch::scheduler::sched_ext::State;
use unspin_launch::scheduler::{Enabled, Reach, SchedExt, Scheduler, SchedulerCommand, StartFailure};

/// The scheduler of a run, in a session that compares schedulers.
#[derive(Clone, Debug, PartialEq)]
pub enum Scheduling {
    /// The kernel's own: no other one is loaded.
    Own,
    /// One that this command loads.
    Loaded(SchedulerCommand),
}

impl Scheduling {
    /// The command that loads the scheduler; none for the kernel's own.
    pub fn command(&self) -> Option<&SchedulerCommand> {
        match self {
            Scheduling::Own => None,
            Scheduling::Loaded(command) => Some(command),
        }
    }
}

/// What is known of a run's scheduler when the run is over.
#[derive(Clone, Debug, Default)]
pub struct PastScheduler {
    /// What the kernel had enabled; none for its own scheduler, or if the scheduler did not become enabled.
    pub enabled: Option<Enabled>,
    /// CPU time of the scheduler's process, in seconds. The program's does not contain it.
    pub cpu_s: f64,
    /// Why the run is not one under this scheduler; none if it is.
    pub failure: Option<String>,
    /// The end of the scheduler's output.
    pub output: String,
    /// Time for its start and its end.
    pub around: Duration,
}

/// The scheduler of a run that is not over. Dropping it ends the scheduler.
pub struct Scheduled {
    kernel: SchedExt,
    /// How many schedulers the kernel had enabled when the run began.
    enabled_before: Option<u64>,
    /// None for the kernel's own, and when it has ended.
    loaded: RefCell<Option<Scheduler>>,
    past: RefCell<PastScheduler>,
}

/// Time for a scheduler of another program that is just being unloaded.
const SETTLING: Duration = Duration::from_secs(5);

impl Scheduled {
    /// Starts the scheduler. The run must not take place if [`PastScheduler::failure`] is known already. Returns none if ^C ended
    /// the wait.
    pub fn begin(
        scheduling: &Scheduling,
        kernel: &SchedExt,
        interrupt: &Interrupt,
    ) -> Result<Option<Scheduled>, Error> {
        let began = Instant::now();
        let mut past = PastScheduler::default();
        let loaded = match scheduling {
            Scheduling::Own => {
                kernel.expect_free(SETTLING)?;
                None
            }
            Scheduling::Loaded(command) => {
                match Scheduler::start(command, kernel, &|| interrupt.has_come()) {
                    Ok(scheduler) => Some(scheduler),
                    Err(StartFailure::GivenUp) => return Ok(None),
                    Err(StartFailure::Error(error)) => return Err(error),
                    Err(StartFailure::Failed { reason, output }) => {
                        (past.failure, past.output) = (Some(reason), output);
                        None
                    }
                }
            }
        };
        past.enabled = loaded.as_ref().map(|scheduler| scheduler.enabled().clone());
        let is_for_program = past.enabled.as_ref().is_some_and(|enabled| enabled.reach == Reach::Program);
        past.failure = past.failure.or_else(|| is_for_program.then(|| kernel.refusal()).flatten());
        past.around = began.elapsed();
        let scheduled = Scheduled {
            kernel: kernel.clone(),
            enabled_before: kernel.sequence(),
            loaded: RefCell::new(loaded),
            past: RefCell::new(past),
        };
        if scheduled.has_failed() {
            scheduled.finish();
        }
        Ok(Some(scheduled))
    }

    /// Whether the run cannot be one under this scheduler.
    pub fn has_failed(&self) -> bool {
        self.past.borrow().failure.is_some()
    }

    /// Whether the scheduler schedules only tasks that have the policy SCHED_EXT.
    pub fn is_for_program_only(&self) -> bool {
        self.past.borrow().enabled.as_ref().is_some_and(|enabled| enabled.reach == Reach::Program)
    }

    /// The process under which the scheduler runs; none for the kernel's own.
    pub fn pid(&self) -> Option<u32> {
        self.loaded.borrow().as_ref().map(Scheduler::pid)
    }

    /// Gives back the space of the scheduler's output that will not be read.
    pub fn trim_output(&self) {
        self.loaded.borrow().as_ref().inspect(|scheduler| scheduler.trim_output());
    }

    /// The program has ended: checks that it was scheduled as it should be, and ends the scheduler. To be called before processes
    /// that the run has left are looked for, among which the scheduler would be.
    pub fn finish(&self) {
        let began = Instant::now();
        let mut past = self.past.borrow_mut();
        match self.loaded.take() {
            Some(mut scheduler) => {
                let loss = past.failure.take().or_else(|| scheduler.loss());
                let stopped = scheduler.stop(&mut || false);
                past.failure = loss.or(stopped.failure);
                past.output = stopped.output;
                past.cpu_s = stopped.usage.cpu_s();
            }
            None if past.enabled.is_none() && past.failure.is_none() => {
                past.failure = match self.kernel.state() {
                    State::Enabled(Enabled { ops, .. }) => {
                        Some(format!("another program loaded the scheduler {ops} during the run"))
                    }
                    _ => (self.kernel.sequence() != self.enabled_before)
                        .then(|| "another program loaded a scheduler for a part of the run".into()),
                };
            }
            None => {}
        }
        past.around += began.elapsed();
    }

    /// What is known of it. Ends it if that has not happened.
    pub fn past(self) -> PastScheduler {
        if self.loaded.borrow().is_some() {
            self.finish();
        }
        self.past.take()
    }
}
