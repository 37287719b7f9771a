//! The scheduler of the guest's command.

use crate::initramfs::GuestCommand;
use crate::status::GuestScheduler;
use std::time::Duration;
use unspin_launch::output::captured::with_output;
use unspin_launch::scheduler::{Reach, SchedExt, Scheduler};
use unspin_sys::child::Ended;

/// A scheduler that is loaded, or none.
pub(super) struct Scheduled(Option<Scheduler>);

impl Scheduled {
    /// Loads the scheduler of a command, if there is to be one, in the command's folder and environment. The error says why it is not
    /// enabled, or may not schedule the command, with its last lines.
    pub fn begin(command: &GuestCommand) -> Result<Scheduled, String> {
        let Some(scheduler) = &command.scheduler else { return Ok(Scheduled(None)) };
        let mut process = scheduler.process();
        process.current_dir(&command.folder);
        process.env_clear().envs(command.environment.iter().map(|(name, value)| (name, value)));
        let kernel = SchedExt::of_kernel();
        // Nothing gives up here.
        let scheduler = Scheduler::start_process(process, &scheduler.line, &kernel, &|| false)
            .map_err(|failure| failure.into_error("interrupted").to_string())?;
        let scheduled = Scheduled(Some(scheduler));
        match scheduled.is_for_program_only().then(|| kernel.refusal()).flatten() {
            Some(refusal) => Err(refusal),
            None => Ok(scheduled),
        }
    }

    /// Whether the scheduler takes only tasks with the policy SCHED_EXT.
    pub fn is_for_program_only(&self) -> bool {
        self.0.as_ref().is_some_and(|scheduler| scheduler.enabled().reach == Reach::Program)
    }

    /// The process under which the scheduler runs.
    pub fn pid(&self) -> Option<u32> {
        self.0.as_ref().map(Scheduler::pid)
    }

    /// Takes how that process has ended.
    pub fn take_end(&mut self, ended: Ended) {
        if let Some(scheduler) = &mut self.0 {
            scheduler.take_end(ended);
        }
    }

    /// Why the scheduler has not scheduled the whole time until now.
    pub fn loss(&mut self) -> Option<String> {
        self.0.as_mut().and_then(Scheduler::loss)
    }

    /// Ends the scheduler. The error says why it has not scheduled the whole time, or has not ended, with its last lines.
    pub fn finish(self, loss: Option<String>) -> Result<Option<GuestScheduler>, String> {
        let Some(scheduler) = self.0 else { return Ok(None) };
        let (ops, reach) = (scheduler.enabled().ops.clone(), scheduler.enabled().reach);
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
