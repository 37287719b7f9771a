//! The scheduler of the guest's command.

use crate::status::GuestScheduler;
use std::time::Duration;
use unspin_launch::scheduler::process::with_output;
use unspin_launch::scheduler::{Reach, SchedExt, Scheduler, SchedulerCommand};

/// A scheduler that is loaded, or none.
pub(super) struct Scheduled(Option<Scheduler>);

impl Scheduled {
    /// Loads the scheduler, if there is to be one. The error says why it is not enabled, with its last lines.
    pub fn begin(command: Option<&SchedulerCommand>) -> Result<Scheduled, String> {
        let Some(command) = command else { return Ok(Scheduled(None)) };
        let started = Scheduler::start(command, &SchedExt::of_kernel(), &|| false);
        match started {
            Ok(scheduler) => Ok(Scheduled(Some(scheduler))),
            // Nothing gives up here.
            Err(failure) => Err(failure.into_error("interrupted").to_string()),
        }
    }

    /// Whether the scheduler takes only tasks with the policy SCHED_EXT.
    pub fn is_for_program_only(&self) -> bool {
        self.0.as_ref().is_some_and(|scheduler| scheduler.enabled().reach == Reach::Program)
    }

    /// Ends the scheduler. The error says that it has not scheduled the whole time, with its last lines.
    pub fn finish(self) -> Result<Option<GuestScheduler>, String> {
        let Some(mut scheduler) = self.0 else { return Ok(None) };
        let (ops, reach) = (scheduler.enabled().ops.clone(), scheduler.enabled().reach);
        let loss = scheduler.loss();
        let stopped = scheduler.stop(&mut || false);
        match loss.or(stopped.failure) {
            Some(why) => Err(with_output(why, &stopped.output)),
            None => {
                let cpu = Duration::from_micros(stopped.usage.user_us + stopped.usage.system_us);
                Ok(Some(GuestScheduler { ops, reach, cpu }))
            }
        }
    }
}
