//! What threads wait for, other than locks, in the report: conditions, barriers, semaphores, joins, descriptors, futexes and the
//! System V engine. An idle thread loses nothing; a thread that sleeps for an answer that comes at once loses the wake-up.

use crate::kind::Kind;
use crate::lock::Address;
use crate::sum::Sum;
use crate::times::Times;
use crate::wakeup::WakeUpCost;
use crate::window::Window;
use serde::{Deserialize, Serialize};

/// One thing to wait for; or several of one name and origin, folded. Waits for descriptors and joins are told apart by their
/// call site alone: each call site is one wait.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Wait {
    /// What is waited for.
    pub kind: Kind,
    /// How many objects share the row; 1 for a call site.
    pub objects: u64,
    /// Where the name is known from.
    pub origin: Option<String>,
    /// Process and address, if it is one object; none for a call site.
    pub address: Option<Address>,
    /// All callers together.
    #[serde(flatten)]
    pub row: WaitRow,
    /// How long it was waited for.
    pub times: Times,
    /// The same per caller, most time waited first.
    pub callers: Vec<Waiter>,
}

/// A place in the program that waits.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Waiter {
    /// Its columns.
    #[serde(flatten)]
    pub row: WaitRow,
    /// Where it is: `pool.c:88`.
    pub place: Option<String>,
    /// How long it waited.
    pub times: Times,
}

/// The columns of a wait. Times are seconds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WaitRow {
    /// Its name, or the caller's.
    pub name: String,
    /// All calls.
    pub calls: u64,
    /// Those that needed no wait.
    pub nowait: u64,
    /// Those that waited and got what they waited for.
    pub satisfied: u64,
    /// Those that did not: the time was up, or the caller asked not to wait.
    pub gave_up: u64,
    /// All calls that waited, whether or not they got what they waited for.
    pub waits: u64,
    /// Those of them that ended while their thread polled; the others slept.
    pub polled: u64,
    /// Waited in all, by all threads.
    pub waited: f64,
    /// The part of it that the threads were asleep; the rest they polled.
    pub sleep: f64,
    /// The same as a share of the metered time: how many threads were in this wait on average. It exceeds 1 where several
    /// threads wait at a time.
    pub share: f64,
    /// Mean wait of those who waited.
    pub mean: f64,
    /// Median of the waits that have ended, interpolated within a range of the histogram. Where none has ended: the mean.
    pub median: f64,
    /// Longest wait.
    pub max: f64,
    /// Waits that ended within the time of three wake-ups: that of the waiting thread itself, that of a partner that sleeps as
    /// well, and the answer between them. Estimated from the histogram: the times of a range are taken to lie evenly in it. 0
    /// if it is not known what a wake-up costs.
    pub short: u64,
    /// Seconds that polling before sleeping could save at most: the time spent in the short waits, summed over the threads. It
    /// is not more than what was spent asleep in this wait, because a wait that was polled has no wake-up to save; and not more
    /// than the metered time, because the report does not know how many threads wait at a time. 0 if it is not known what a
    /// wake-up costs. The savings of several waits do not add up: two partners that wait for each other save the same time.
    pub saving: f64,
}

/// The short waits of a row, and the seconds spent asleep in them.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Short {
    waits: u64,
    seconds: f64,
}

impl Short {
    /// The short waits of a kind among these.
    pub fn of(kind: Kind, sum: &Sum, cost: Option<WakeUpCost>, window: &Window) -> Short {
        let Some(limit) = cost.map(|cost| cost.short(kind)) else { return Short::default() };
        let longest = sum.counts.wait_max;
        let (waits, ticks) = sum.waits.shorter_than(window.to_ticks(limit), longest);
        // Without a longer wait the sum is known exactly.
        let all_short = waits > 0 && window.to_seconds(longest) < limit;
        let seconds = if all_short { f64::INFINITY } else { ticks / window.ticks_per_second };
        Short { waits, seconds: seconds.min(window.to_seconds(sum.counts.sleep)) }
    }

    /// Adds another caller's.
    pub fn merge(&mut self, other: Short) {
        self.waits = self.waits.saturating_add(other.waits);
        self.seconds += other.seconds;
    }
}

impl WaitRow {
    pub(crate) fn new(name: String, sum: &Sum, short: Short, window: &Window) -> WaitRow {
        let counts = &sum.counts;
        let waited = window.to_seconds(counts.wait());
        let waits = counts.waiters();
        let max = window.to_seconds(counts.wait_max);
        let mean = waited / waits.max(1) as f64;
        let median = sum.waits.median(counts.wait_max).map(|ticks| ticks / window.ticks_per_second);
        WaitRow {
            name,
            calls: counts.attempts(),
            nowait: counts.nowait,
            satisfied: counts.spun.saturating_add(counts.slept),
            gave_up: counts.rejected,
            waits,
            polled: counts.spun,
            waited,
            sleep: window.to_seconds(counts.sleep),
            share: waited / window.seconds,
            mean: if waits == 0 { 0.0 } else { mean },
            // Counts of a running thread may be torn: a time counted and not yet added.
            median: median.unwrap_or(mean).min(max),
            max,
            short: short.waits,
            saving: short.seconds.min(waited).min(window.seconds),
        }
    }

    /// Waits that slept, after polling or without.
    pub fn slept(&self) -> u64 {
        self.waits.saturating_sub(self.polled)
    }

    /// Short waits as a share of all that waited.
    pub fn short_share(&self) -> f64 {
        if self.waits == 0 { 0.0 } else { self.short as f64 / self.waits as f64 }
    }
}

impl Wait {
    /// The name, with what it is and how many share the row, where the name does not say that.
    pub fn label(&self) -> String {
        let number = if self.objects == 1 { String::new() } else { format!("({}) ", self.objects) };
        let name = &self.row.name;
        let noun = self.kind.noun();
        let kind = if name.contains(noun) { String::new() } else { format!(" [{noun}]") };
        format!("{number}{name}{kind}")
    }
}
