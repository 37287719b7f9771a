//! Whether a run that reaches its time limit has stopped making progress.
//!
//! A run hangs if, from half of its time limit on, none of its threads runs and each waits for another one. The
//! detector looks twice, at half of the limit and at the limit. The run hangs if both looks find the same threads, each
//! thread sleeps, and the kernel counted no context switch of them in between. A thread that is ready but gets no CPU
//! does not hang, and a thread that waits for a disk does not hang either. A thread that sleeps with a timeout will run
//! again, and the program goes on, if only slowly: such a wait finds out late that its wake-up was lost. A thread that
//! a timer's signal or a message from a network may wake does not hang.

use super::process_tree::{RunThreads, threads_of_descendants};
use std::time::Duration;

/// Watches one run. All descendants of this process belong to it, except the scheduler of the run.
pub struct HangDetector {
    limit: Duration,
    /// The scheduler's process.
    spared: Option<u32>,
    /// At half of the limit; none before.
    halfway: Option<RunThreads>,
}

impl HangDetector {
    /// For a run that is ended at `limit`. `spared` is a process that does not belong to it.
    pub fn new(limit: Duration, spared: Option<u32>) -> HangDetector {
        HangDetector { limit, spared, halfway: None }
    }

    /// The time until the next look is due, or until the limit.
    pub fn pause(&self, elapsed: Duration) -> Duration {
        let due = if self.halfway.is_none() { self.limit / 2 } else { self.limit };
        due.saturating_sub(elapsed)
    }

    /// Looks at the processes once, when half of the limit has passed.
    pub fn look(&mut self, elapsed: Duration) {
        if self.halfway.is_none() && elapsed >= self.limit / 2 {
            self.halfway = Some(threads_of_descendants(self.spared));
        }
    }

    /// Whether the run hangs. Call it at the limit, before the processes are ended.
    pub fn is_hung(&self) -> bool {
        let now = || threads_of_descendants(self.spared);
        self.halfway.as_ref().is_some_and(|halfway| is_hung(halfway, &now()))
    }
}

fn is_hung(halfway: &RunThreads, now: &RunThreads) -> bool {
    !now.is_empty() && now.can_sleep_for_ever() && halfway == now
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process_tree::{ThreadActivity, ThreadState};

    #[test]
    fn run_hangs_of_which_no_thread_runs_or_waits_for_a_time() {
        use ThreadState::{Active, Asleep, AsleepUntil};
        let threads = |of: &[(u32, u64, ThreadState)]| {
            let thread = |&(tid, switches, state)| (tid, ThreadActivity { switches, state });
            of.iter().map(thread).collect::<RunThreads>()
        };
        let hangs = |before: &[_], after: &[_]| is_hung(&threads(before), &threads(after));
        let two = [(7, 30, Asleep), (8, 2, Asleep)];
        assert!(hangs(&two, &two));
        assert!(!hangs(&two, &[(7, 30, Asleep), (8, 3, Asleep)]), "a thread woke for a moment");
        assert!(!hangs(&two, &two[..1]), "a thread ended");
        assert!(!hangs(&two[..1], &two), "a thread began");
        assert!(
            !hangs(&[(7, 30, Active)], &[(7, 30, Active)]),
            "it is ready and gets no CPU, or waits for a disk"
        );
        assert!(!hangs(&[(7, 30, AsleepUntil)], &[(7, 30, AsleepUntil)]), "one long sleep, which ends");
        assert!(!hangs(&[], &[]), "nothing is known");
    }

    #[test]
    fn looks_are_due_at_half_of_the_limit_and_at_the_limit() {
        let seconds = Duration::from_secs;
        let mut detector = HangDetector::new(seconds(10), None);
        assert_eq!(detector.pause(seconds(1)), seconds(4));
        assert!(!detector.is_hung(), "nothing is known before half of the limit");
        detector.look(seconds(5));
        assert_eq!((detector.pause(seconds(5)), detector.pause(seconds(11))), (seconds(5), Duration::ZERO));
    }
}
