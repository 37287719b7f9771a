//! The locks that are worth another kind.

use super::super::metering::Metering;
use super::findings::{capacity, is_mutex, mutex_lost};
use crate::plan::Located;
use serde::Serialize;
use unspin_meter::Lock;

/// The least share of wall time × CPUs that must be lost on a mutex: below it what could be gained drowns in the noise of
/// most machines.
pub const WORTH: f64 = 0.01;
/// Locks that are tried one by one at most.
const PICKS: usize = 3;
/// A wait is starvation that lasts so many times the mean, and [`STARVED_S`].
const STARVED_TIMES: f64 = 100.0;
/// Shorter waits hardly anybody calls starving: ten times the slice of CPU time that a thread gets at a time (some 3 ms).
const STARVED_S: f64 = 0.03;

/// A mutex that was picked; or several of one name, folded.
#[derive(Clone, Debug, Serialize)]
pub struct Pick {
    /// Its name.
    pub name: String,
    /// Where it is known from.
    pub origin: Option<String>,
    /// Time waited for it, in seconds, summed over the threads.
    pub lost_s: f64,
    /// The same as a share of wall time × CPUs.
    pub lost: f64,
    /// The bound on what removing it could give.
    pub ceiling: f64,
    /// Whether somebody waited for it so much longer than the others that strict order is worth trying.
    pub starved: bool,
    /// Where the preload library recognises it; none if it can be replaced only together with all others.
    #[serde(skip)]
    pub located: Option<Located>,
}

/// The mutexes that enough time is lost on, most first.
pub fn picks(metering: &Metering) -> Vec<Pick> {
    let (report, located) = (&metering.report, metering.located());
    let pick = |lock: &Lock| Pick {
        name: lock.row.name.clone(),
        origin: lock.origin.clone(),
        lost_s: mutex_lost(lock),
        lost: mutex_lost(lock) / capacity(report),
        ceiling: lock.row.ceiling,
        starved: lock.row.wait_max >= STARVED_S && lock.row.wait_max >= STARVED_TIMES * lock.row.wait_mean,
        located: located.iter().find(|located| located.is(lock)).cloned(),
    };
    let mut picks: Vec<Pick> = report.locks.iter().filter(|lock| is_mutex(lock)).map(pick).collect();
    picks.retain(|pick| pick.lost >= WORTH);
    picks.sort_by(|a, b| b.lost.total_cmp(&a.lost));
    picks.truncate(PICKS);
    picks
}
