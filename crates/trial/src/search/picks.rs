//! The locks for which another kind is tried.

use super::super::metering::Metering;
use super::findings::{WORTH, capacity};
use crate::kinds;
use serde::Serialize;
use unspin_launch::plan::Located;
use unspin_report::{Cause, Finding, Lock};
use unspin_stats::Quantity;
use unspin_wire::plan::LockFamily;

/// Maximum number of locks that are tried one by one.
const PICKS: usize = 3;
/// A wait is starvation if it lasts this many times the mean, and [`STARVED_S`].
const STARVED_TIMES: f64 = 100.0;
/// Minimum time of starvation: ten times the CPU time slice of a thread (about 3 ms).
const STARVED_S: f64 = 0.03;

/// A picked lock, or several locks of one name.
#[derive(Clone, Debug, Serialize)]
pub struct Pick {
    /// The family of the lock.
    #[serde(serialize_with = "kinds::serialize_family")]
    pub family: LockFamily,
    /// The lock's name.
    pub name: String,
    /// The origin of its name.
    pub origin: Option<String>,
    /// Time waited for it, in seconds, summed over the threads.
    pub lost_s: f64,
    /// The time lost as a share of wall time × CPUs.
    pub lost: f64,
    /// The upper bound on the gain of removing it.
    pub ceiling: f64,
    /// Whether a thread waited for it so much longer than the others that strict order is worth a try.
    pub starved: bool,
    /// Whether it is held so long at a time that no kind of lock makes the program faster; then none is tried for it.
    pub held_long: bool,
    /// Whether its readers contend for its cache line without waiting. What that costs is in no figure, so no bound on the
    /// gain is known.
    pub contended_readers: bool,
    /// The places by which the preload library identifies it; none if it can be replaced only together with all others.
    #[serde(skip)]
    pub located: Option<Located>,
}

/// The locks that cost enough time, most first; then those whose readers contend without waiting.
pub fn picks(metering: &Metering, judged: Quantity) -> Vec<Pick> {
    let located = |family| metering.located(family);
    let located = LockFamily::ALL.map(|family| (family, located(family)));
    let report = &metering.report;
    let findings = report.findings();
    // Another figure may depend on more than the time that a lock costs.
    let is_long = |finding: &&Finding| {
        matches!(finding.cause, Cause::LongHold | Cause::SleepingReaders) && judged == Quantity::WallTime
    };
    let held_long: Vec<&str> = names(findings.iter().filter(is_long));
    let contended = names(findings.iter().filter(|finding| finding.cause == Cause::ContendedReaders));
    let pick = |(family, lock): (LockFamily, &Lock)| {
        let of_family = located.iter().find(|(other, _)| *other == family);
        let lost_s = kinds::lost_as(lock, family);
        let is_starved = |max, mean| max >= STARVED_S && max >= STARVED_TIMES * mean;
        Pick {
            family,
            name: lock.row.name.clone(),
            origin: lock.origin.clone(),
            lost_s,
            lost: lost_s / capacity(report),
            ceiling: lock.row.ceiling,
            held_long: held_long.contains(&lock.row.name.as_str()),
            contended_readers: family == LockFamily::RwLock && contended.contains(&lock.row.name.as_str()),
            starved: is_starved(lock.row.wait_max, lock.row.wait_mean),
            located: of_family.and_then(|(_, all)| all.iter().find(|located| located.is(lock)).cloned()),
        }
    };
    let families = report.locks.iter().filter_map(|lock| Some((kinds::family(lock)?, lock)));
    let (mut picks, mut others): (Vec<Pick>, Vec<Pick>) =
        families.map(pick).partition(|pick| pick.lost >= WORTH);
    picks.sort_by(|a, b| b.lost.total_cmp(&a.lost));
    picks.truncate(PICKS);
    others.retain(|pick| pick.contended_readers);
    picks.extend(others);
    picks
}

fn names<'f>(findings: impl Iterator<Item = &'f Finding>) -> Vec<&'f str> {
    findings.map(|finding| finding.name.as_str()).collect()
}
