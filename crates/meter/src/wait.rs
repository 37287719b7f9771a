//! What threads wait for by design, in the report: conditions, barriers, semaphores. An idle worker loses nothing.

use crate::kind::Kind;
use crate::lock::Address;
use crate::sum::Sum;
use crate::times::Times;
use crate::window::Window;
use serde::{Deserialize, Serialize};

/// One thing to wait for; or several of one name and origin, folded.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Wait {
    /// Condition, barrier or semaphore.
    pub kind: Kind,
    /// How many these are.
    pub objects: u64,
    /// Where it is known from.
    pub origin: Option<String>,
    /// Process and address, if it is one.
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
    /// Those that did not: the time was up, or nobody meant to wait.
    pub gave_up: u64,
    /// Waited in all.
    pub waited: f64,
    /// Mean wait of those who waited.
    pub mean: f64,
    /// Longest wait.
    pub max: f64,
}

impl WaitRow {
    pub(crate) fn new(name: String, sum: &Sum, window: &Window) -> WaitRow {
        let counts = &sum.counts;
        let waited = window.to_seconds(counts.wait());
        let waiters = counts.waiters();
        WaitRow {
            name,
            calls: counts.attempts(),
            nowait: counts.nowait,
            satisfied: counts.spun.saturating_add(counts.slept),
            gave_up: counts.rejected,
            waited,
            mean: if waiters == 0 { 0.0 } else { waited / waiters as f64 },
            max: window.to_seconds(counts.wait_max),
        }
    }
}
