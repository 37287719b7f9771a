//! Waits for objects other than locks, in the report: conditions, barriers, semaphores, joins, descriptors, futexes
//! and the System V engine. An idle thread loses nothing. A thread that sleeps for an answer that comes at once loses
//! the time of the wake-up.

use crate::lock::Address;
use crate::serial;
use crate::sum::Sum;
use crate::times::Times;
use crate::wakes::Wakes;
use core::ops::Range;
use serde::{Deserialize, Serialize};
use unspin_wire::{RecordKind, WakeUpCost, Window};

/// One object of a wait, or several of one name and origin, folded. For descriptors and joins each call site is one
/// wait.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Wait {
    /// The kind of object.
    #[serde(with = "serial::RecordKind")]
    pub kind: RecordKind,
    /// Number of objects in this row; 1 for a call site.
    pub objects: u64,
    /// How the name is known.
    pub origin: Option<String>,
    /// Process and address, if it is one object; none for a call site.
    pub address: Option<Address>,
    /// All callers together.
    #[serde(flatten)]
    pub row: WaitRow,
    /// Wait times.
    pub times: Times,
    /// The callers, most time waited first.
    pub callers: Vec<Waiter>,
    /// Whether the object is used as a lock. Then it is among the locks too, where its waits are counted as time lost.
    #[serde(default)]
    pub used_as_lock: bool,
    /// For a condition: the calls that wake, and what the woken threads found. None if nothing was recorded.
    #[serde(default)]
    pub wakes: Option<Wakes>,
}

/// A place in the program that waits.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Waiter {
    /// The columns.
    #[serde(flatten)]
    pub row: WaitRow,
    /// Where it is: `pool.c:88`.
    pub place: Option<String>,
    /// Wait times.
    pub times: Times,
}

/// The columns of a wait. Times are seconds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WaitRow {
    /// The name of the wait, or of the caller.
    pub name: String,
    /// All calls.
    pub calls: u64,
    /// Calls that did not wait.
    pub nowait: u64,
    /// Calls that waited successfully.
    pub satisfied: u64,
    /// Calls that did not get what they waited for: the timeout expired, or the caller asked not to wait.
    pub gave_up: u64,
    /// All calls that waited, successful or not.
    pub waits: u64,
    /// Waits that ended while the thread polled. In the other waits the thread slept.
    pub polled: u64,
    /// Total wait of all threads.
    pub waited: f64,
    /// The part of it that the threads slept. In the rest they polled.
    pub sleep: f64,
    /// Total wait as a share of the metered time: the mean number of threads in this wait. It exceeds 1 if several
    /// threads wait at a time.
    pub share: f64,
    /// Mean wait of the calls that waited.
    pub mean: f64,
    /// Median of the completed waits, interpolated within a range of the histogram, and moved into the bounds that
    /// the number of waits, their sum and the longest one give: of one wait it is that wait. The mean if no wait has
    /// completed.
    pub median: f64,
    /// Longest wait.
    pub max: f64,
    /// Number of waits that ended within the time of three wake-ups: that of the waiting thread, that of its partner
    /// if the partner sleeps too, and the answer between them. Estimated from the histogram, on the assumption that
    /// times are evenly distributed within a range. 0 if the cost of a wake-up is not known.
    pub short: u64,
    /// Upper bound of the seconds that polling before sleeping could save: the time spent in short waits, summed over
    /// the threads. It is at most the time spent asleep in this wait, because a wait that ended while polling has no
    /// wake-up to save. It is at most the metered time, because the report does not know how many threads wait at a
    /// time. 0 if the cost of a wake-up is not known. The savings of several waits do not add up: two partners that
    /// wait for each other save the same time.
    pub saving: f64,
}

/// The short waits of a row, and the seconds spent asleep in them.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Short {
    waits: u64,
    seconds: f64,
}

impl Short {
    /// The short waits of this kind in `sum`.
    pub fn of(kind: RecordKind, sum: &Sum, cost: Option<WakeUpCost>, window: &Window) -> Short {
        let Some(limit) = cost.map(|cost| cost.short(kind)) else { return Short::default() };
        let longest = sum.counts.wait_max;
        let (waits, ticks) = sum.waits.shorter_than(window.to_ticks(limit), longest);
        // If no wait was longer, the sum is known exactly.
        let all_short = waits > 0 && window.to_seconds(longest) < limit;
        let seconds = if all_short { f64::INFINITY } else { ticks / window.ticks_per_second };
        Short { waits, seconds: seconds.min(window.to_seconds(sum.counts.sleep)) }
    }

    /// Adds those of another caller.
    pub fn merge(&mut self, other: Short) {
        self.waits = self.waits.saturating_add(other.waits);
        self.seconds += other.seconds;
    }
}

/// An estimated median, moved into the bounds that the number of the waits, their sum and the longest one give. A bound
/// outside the ranges of the histogram in which the middle times lie is ignored: the sum may have a wait that goes on as well.
fn bounded_median(estimate: f64, middle: Range<f64>, waits: u64, sum: f64, max: f64) -> f64 {
    // These times are on average at least as long as the median, and as many at most as long; the others are at most `max`.
    let half = waits / 2 + 1;
    let others = waits.saturating_sub(half) as f64;
    let lower = (sum - others * max) / half as f64;
    let upper = sum / half as f64;
    // The counts of a running thread may be torn: a time may be in the histogram and not yet in the sums.
    let [estimate, upper] = match lower <= middle.end && upper >= middle.start {
        true => [estimate.max(lower), upper],
        false => [estimate, f64::INFINITY],
    };
    estimate.min(upper).max(middle.start).min(middle.end).min(max)
}

impl WaitRow {
    pub(crate) fn new(name: String, sum: &Sum, short: Short, window: &Window) -> WaitRow {
        let counts = &sum.counts;
        let waited = window.to_seconds(counts.wait());
        let waits = counts.waiters();
        let max = window.to_seconds(counts.wait_max);
        let mean = waited / waits.max(1) as f64;
        let in_seconds = |ticks: f64| ticks / window.ticks_per_second;
        let median = sum.waits.median(counts.wait_max).zip(sum.waits.middle(counts.wait_max)).map(
            |(estimate, Range { start, end })| {
                let middle = in_seconds(start)..in_seconds(end);
                bounded_median(in_seconds(estimate), middle, waits, waited, max)
            },
        );
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
            median: median.unwrap_or(mean).min(max),
            max,
            short: short.waits,
            saving: short.seconds.min(waited).min(window.seconds),
        }
    }

    /// Waits in which the thread slept, after polling or without.
    pub fn slept(&self) -> u64 {
        self.waits.saturating_sub(self.polled)
    }

    /// Short waits as a share of all waits.
    pub fn short_share(&self) -> f64 {
        if self.waits == 0 { 0.0 } else { self.short as f64 / self.waits as f64 }
    }
}

impl Wait {
    /// Whether threads wait in it for each other or for work, by design. An object that is used as a lock is none.
    pub fn is_by_design(&self) -> bool {
        self.kind.is_by_design() && !self.used_as_lock
    }

    /// The name, with the number of objects if there are several, and the kind if the name does not contain it.
    pub fn label(&self) -> String {
        let number = if self.objects == 1 { String::new() } else { format!("({}) ", self.objects) };
        let name = &self.row.name;
        let noun = self.kind.noun();
        let kind = if name.contains(noun) { String::new() } else { format!(" [{noun}]") };
        format!("{number}{name}{kind}")
    }
}
