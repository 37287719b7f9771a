//! Whether a run that reaches its time limit has stopped making progress.
//!
//! A run hangs if its processes use no CPU time from half of the limit on, and if at both times each of its threads sleeps. The
//! second condition tells a hang from a busy machine, on which threads are ready and get no CPU, and from a slow disk.

use super::process_tree::{Activity, Threads, activity_of_descendants};
use std::time::Duration;

/// Watches one run. All descendants of this process belong to it.
pub struct HangDetector {
    limit: Duration,
    /// At half of the limit; none before.
    halfway: Option<Activity>,
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
            self.halfway = Some(activity_of_descendants());
        }
    }

    /// Whether the run hangs; asked at the limit, before its processes are ended.
    pub fn is_hung(&self) -> bool {
        self.halfway.is_some_and(|halfway| is_hung(halfway, activity_of_descendants(), self.limit / 2))
    }
}

/// The CPU time that a sleeping program uses in vain, one part in so many: timers of runtimes.
const IDLE_PART: u32 = 1000;
/// The resolution of CPU times in proc_pid_stat(5).
const TICK: Duration = Duration::from_millis(10);

fn is_hung(halfway: Activity, now: Activity, between: Duration) -> bool {
    let used = now.usage.since(&halfway.usage);
    let used = Duration::from_micros(used.user_us + used.system_us);
    let all_sleep = halfway.threads == Threads::Asleep && now.threads == Threads::Asleep;
    all_sleep && used <= TICK + between / IDLE_PART
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_sys::child::Usage;

    #[test]
    fn run_hangs_whose_threads_sleep_and_use_no_cpu_time() {
        let at = |user_us, threads| Activity { usage: Usage { user_us, ..Usage::default() }, threads };
        let hangs = |before, after| is_hung(before, after, Duration::from_secs(10));
        let asleep = |user_us| at(user_us, Threads::Asleep);
        assert!(hangs(asleep(500_000), asleep(500_000)));
        assert!(hangs(asleep(500_000), asleep(515_000)), "timers of a runtime");
        assert!(!hangs(asleep(500_000), asleep(600_000)), "it computes");
        assert!(!hangs(at(500_000, Threads::Active), asleep(500_000)), "it was ready, and got no CPU");
        assert!(!hangs(asleep(500_000), at(500_000, Threads::Active)), "it waits for a disk");
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
