//! Sums over samples.

use crate::event::{AttemptOutcome, Sample};

/// Sums over a set of samples: attempts by outcome, times in ticks.
///
/// Sums saturate: a recording is a file, and a damaged one must not make its reader panic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Acquisitions without waiting.
    pub nowait: u64,
    /// Acquisitions after spinning.
    pub spun: u64,
    /// Acquisitions after sleeping.
    pub slept: u64,
    /// Refused attempts.
    pub rejected: u64,
    /// Refused attempts that had waited before.
    pub gave_up: u64,
    /// Holds that were timed.
    pub timed: u64,
    /// Holds for which timed ones stand beside themselves: level `auto` chooses one hold in 16 of a frequent lock at random,
    /// and such a hold stands for 15 others.
    pub implied: u64,
    /// Cumulated time of the timed holds, and of those for which they stand.
    pub hold: u64,
    /// Longest hold.
    pub hold_max: u64,
    /// Cumulated time spent spinning.
    pub spin: u64,
    /// Longest spin.
    pub spin_max: u64,
    /// Cumulated time asleep.
    pub sleep: u64,
    /// Longest sleep.
    pub sleep_max: u64,
    /// Longest wait, spinning and sleeping together.
    pub wait_max: u64,
    /// Locks for reading: cumulated time in which at least one reader held the lock.
    pub busy: u64,
    /// The longest such period.
    pub busy_max: u64,
    /// The number of such periods.
    pub periods: u64,
}

impl Counts {
    /// All attempts.
    pub fn attempts(&self) -> u64 {
        self.acquisitions().saturating_add(self.rejected)
    }

    /// Attempts that got the lock.
    pub fn acquisitions(&self) -> u64 {
        self.nowait.saturating_add(self.spun).saturating_add(self.slept)
    }

    /// Attempts that waited, whether or not they got the lock.
    pub fn waiters(&self) -> u64 {
        self.spun.saturating_add(self.slept).saturating_add(self.gave_up)
    }

    /// Cumulated wait, spinning and sleeping.
    pub fn wait(&self) -> u64 {
        self.spin.saturating_add(self.sleep)
    }

    /// Cumulated hold time of all acquisitions: the measured sum if every hold was timed, otherwise an estimate from
    /// the timed holds, and no less than the longest. By chance these may stand for more holds than there were.
    pub fn hold_in_all(&self) -> f64 {
        match (self.timed, self.acquisitions()) {
            (timed @ 1.., all @ 1..) => {
                let estimate = self.hold as f64 * (all as f64 / timed.saturating_add(self.implied) as f64);
                estimate.max(self.hold_max as f64)
            }
            _ => self.hold as f64,
        }
    }

    /// Counts one sample.
    pub fn add(&mut self, sample: &Sample) {
        let waited = sample.spun | sample.slept != 0;
        match sample.outcome {
            AttemptOutcome::NoWait => self.nowait += 1,
            AttemptOutcome::Spun => self.spun += 1,
            AttemptOutcome::Slept => self.slept += 1,
            AttemptOutcome::Rejected => {
                self.rejected += 1;
                self.gave_up += u64::from(waited);
            }
        }
        let wait = sample.spun.saturating_add(sample.slept);
        self.merge(&Counts {
            timed: u64::from(sample.outcome != AttemptOutcome::Rejected),
            hold: sample.hold,
            hold_max: sample.hold,
            spin: sample.spun,
            spin_max: sample.spun,
            sleep: sample.slept,
            sleep_max: sample.slept,
            wait_max: wait,
            ..Counts::default()
        });
    }

    /// Adds other samples' counts: sums add, maxima are the larger.
    pub fn merge(&mut self, other: &Counts) {
        let sum = |into: &mut u64, n: u64| *into = into.saturating_add(n);
        let max = |into: &mut u64, n: u64| *into = n.max(*into);
        sum(&mut self.nowait, other.nowait);
        sum(&mut self.spun, other.spun);
        sum(&mut self.slept, other.slept);
        sum(&mut self.rejected, other.rejected);
        sum(&mut self.gave_up, other.gave_up);
        sum(&mut self.timed, other.timed);
        sum(&mut self.implied, other.implied);
        sum(&mut self.hold, other.hold);
        sum(&mut self.busy, other.busy);
        sum(&mut self.periods, other.periods);
        sum(&mut self.spin, other.spin);
        sum(&mut self.sleep, other.sleep);
        max(&mut self.hold_max, other.hold_max);
        max(&mut self.spin_max, other.spin_max);
        max(&mut self.sleep_max, other.sleep_max);
        max(&mut self.wait_max, other.wait_max);
        max(&mut self.busy_max, other.busy_max);
    }
}
