//! The locks for which another kind is tried.

use super::super::metering::Metering;
use super::findings::{WORTH, capacity, is_mutex, mutex_lost};
use serde::Serialize;
use unspin_launch::plan::Located;
use unspin_meter::{Cause, Lock};
use unspin_stats::Quantity;

/// Maximum number of locks that are tried one by one.
const PICKS: usize = 3;
/// A wait is starvation if it lasts this many times the mean, and [`STARVED_S`].
const STARVED_TIMES: f64 = 100.0;
/// Minimum time of starvation: ten times the CPU time slice of a thread (about 3 ms).
const STARVED_S: f64 = 0.03;

/// A picked mutex, or several mutexes of one name.
#[derive(Clone, Debug, Serialize)]
pub struct Pick {
    /// Its name.
    pub name: String,
    /// The origin of its name.
    pub origin: Option<String>,
    /// Time waited for it, in seconds, summed over the threads.
    pub lost_s: f64,
    /// The same as a share of wall time × CPUs.
    pub lost: f64,
    /// The upper bound on the gain of removing it.
    pub ceiling: f64,
    /// Whether a thread waited for it so much longer than the others that strict order is worth a try.
    pub starved: bool,
    /// Whether it is held so long at a time that no kind of lock makes the program faster; then none is tried for it.
    pub held_long: bool,
    /// The places by which the preload library identifies it; none if it can be replaced only together with all others.
    #[serde(skip)]
    pub located: Option<Located>,
}

/// The mutexes that cost enough time, most first.
pub fn picks(metering: &Metering, judged: Quantity) -> Vec<Pick> {
    let (report, located) = (&metering.report, metering.located());
    // Another figure may depend on more than the time that a lock costs.
    let long = report
        .findings()
        .into_iter()
        .filter(|finding| finding.cause == Cause::LongHold && judged == Quantity::WallTime);
    let held_long: Vec<String> = long.map(|finding| finding.name).collect();
    let pick = |lock: &Lock| Pick {
        name: lock.row.name.clone(),
        origin: lock.origin.clone(),
        lost_s: mutex_lost(lock),
        lost: mutex_lost(lock) / capacity(report),
        ceiling: lock.row.ceiling,
        held_long: held_long.contains(&lock.row.name),
        starved: lock.row.wait_max >= STARVED_S && lock.row.wait_max >= STARVED_TIMES * lock.row.wait_mean,
        located: located.iter().find(|located| located.is(lock)).cloned(),
    };
    let mut picks: Vec<Pick> = report.locks.iter().filter(|lock| is_mutex(lock)).map(pick).collect();
    picks.retain(|pick| pick.lost >= WORTH);
    picks.sort_by(|a, b| b.lost.total_cmp(&a.lost));
    picks.truncate(PICKS);
    picks
}
