//! Whether a run that reaches its time limit has stopped making progress.
//!
//! A run hangs if none of its threads runs from half of the limit on, and each waits for another one. So at both looks it has the same
//! threads, each sleeps, and the kernel has counted no context switch of them in between. A thread that is ready and gets no CPU
//! does not hang, nor one that waits for a disk. A thread that sleeps until a time will run again, and so will the program, if only
//! slowly: a wait with a timeout finds out late that its wake-up was lost. Nor does one hang that a timer's signal, or a message
//! from a network, may wake.

use super::process_tree::{Threads, threads_of_descendants};
use std::time::Duration;

/// Watches one run. All descendants of this process belong to it.
pub struct HangDetector {
    limit: Duration,
    /// At half of the limit; none before.
    halfway: Option<Threads>,
}

impl HangDetector {
    /// For a run that is ended at `limit`.
    pub fn new(limit: Duration) -> HangDetector {
        HangDetector { limit, halfway: None }
    }

    /// The time until the next look is due, or until the limit.
    pub fn pause(&self, elapsed: Duration) -> Duration {
        let due = if self.halfway.is_none() { self.limit / 2 } else { self.limit };
        due.saturating_sub(elapsed)
    }

    /// Looks at the processes once, when half of the limit has passed.
    pub fn look(&mut self, elapsed: Duration) {
        if self.halfway.is_none() && elapsed >= self.limit / 2 {
            self.halfway = Some(threads_of_descendants());
        }
    }

    /// Whether the run hangs; asked at the limit, before its processes are ended.
    pub fn is_hung(&self) -> bool {
        self.halfway.as_ref().is_some_and(|halfway| is_hung(halfway, &threads_of_descendants()))
    }
}

fn is_hung(halfway: &Threads, now: &Threads) -> bool {
    !now.is_empty() && now.can_sleep_for_ever() && halfway == now
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process_tree::{ProcessThread, ThreadState};

    #[test]
    fn run_hangs_of_which_no_thread_runs_or_waits_for_a_time() {
        use ThreadState::{Active, Asleep, AsleepUntil};
        let threads = |of: &[(u32, u64, ThreadState)]| {
            let thread = |&(tid, switches, state)| (tid, ProcessThread { switches, state });
            of.iter().map(thread).collect::<Threads>()
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
        let mut detector = HangDetector::new(seconds(10));
        assert_eq!(detector.pause(seconds(1)), seconds(4));
        assert!(!detector.is_hung(), "nothing is known before half of the limit");
        detector.look(seconds(5));
        assert_eq!((detector.pause(seconds(5)), detector.pause(seconds(11))), (seconds(5), Duration::ZERO));
    }
}
