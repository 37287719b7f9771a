//! The call sites at which polling is tried.

use super::super::metering::Metering;
use serde::Serialize;
use std::collections::BTreeMap;
use unspin_launch::plan::Located;
use unspin_report::{WaitRow, Waiter};
use unspin_wire::RecordKind;

/// Minimum share of the wall-clock time that polling at a call site must be able to save. A wait that ends sooner
/// shortens the run by that time at most, on any number of CPUs: so it is not a share of wall-clock time × CPUs.
/// Smaller gains are within the noise of most machines, and the saving is an upper bound.
pub const WORTH_POLLING: f64 = 0.02;
/// Maximum median wait for a call site to be tried although its waits exceed the meter's limit for short waits. The
/// cost of a wake-up was measured once; on a machine that was busy then, it may be lower than the program's cost (5 µs
/// to 100 µs).
const SHORT_WAIT_S: f64 = 200e-6;
/// Maximum number of call sites that are tried one by one.
const SITES: usize = 2;

/// A picked call site.
#[derive(Clone, Debug, Serialize)]
pub struct SitePick {
    /// The call site's name in the report.
    pub name: String,
    /// The call site's place in the report.
    pub place: Option<String>,
    /// What it waits for; if several things, the one with the longest time.
    #[serde(with = "unspin_report::serial::RecordKind")]
    pub kind: RecordKind,
    /// Calls that waited.
    pub waits: u64,
    /// Waits that were so short that polling could have avoided the sleep.
    pub short: u64,
    /// The median wait in seconds; if there are several kinds, that of `kind`.
    pub median_s: f64,
    /// The upper bound on the saving by polling, in seconds.
    pub saving_s: f64,
    /// The places by which the preload library identifies it; none if it can poll only together with all others.
    #[serde(skip)]
    pub located: Option<Located>,
}

/// The possible saving by polling before sleeping.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Polling {
    /// Number of calls that waited, anywhere.
    pub waits: u64,
    /// The upper bound on the saving, in seconds: that of the call site with the greatest saving, because the savings
    /// of threads that wait for each other are the same.
    pub saving_s: f64,
    /// The cost of a wake-up on this machine, in seconds; none if it could not be measured.
    pub wake_up_s: Option<f64>,
    /// The call sites that could save enough, most first.
    pub sites: Vec<SitePick>,
}

impl Polling {
    /// For a metered run.
    pub fn of(metering: &Metering) -> Polling {
        let report = &metering.report;
        // Group by the name that --waits accepts: a call that was recorded under several callers is one call site.
        let mut by_site = BTreeMap::<&str, Vec<(RecordKind, &Waiter)>>::new();
        for wait in &report.waits {
            for caller in &wait.callers {
                by_site.entry(caller.row.name.as_str()).or_default().push((wait.kind, caller));
            }
        }
        let located = metering.call_sites();
        let mut sites: Vec<SitePick> =
            by_site.values().map(|waiters| pick(waiters, report.seconds, &located)).collect();
        sites.sort_by(|a, b| b.saving_s.total_cmp(&a.saving_s));
        let waits = sites.iter().map(|site| site.waits).sum();
        let saving_s = sites.first().map_or(0.0, |site| site.saving_s);
        sites.retain(|site| site.saving_s >= WORTH_POLLING * report.seconds);
        let dearest = sites.first().map_or(RecordKind::Epoll, |site| site.kind);
        Polling { waits, saving_s, wake_up_s: report.wake_up.map(|cost| cost.seconds(dearest)), sites }
    }

    /// Whether polling is worth a try.
    pub fn is_promising(&self) -> bool {
        !self.sites.is_empty()
    }

    /// The call sites that are tried alone. A single one is left out, because polling everywhere has the same effect.
    pub fn apart(&self) -> &[SitePick] {
        if self.sites.len() < 2 { &[] } else { &self.sites[..SITES] }
    }
}

/// The upper bound on the saving: the meter's, as the lock table has it. If most waits exceed the meter's limit for short
/// waits and their median is short all the same, the time of as many waits of that length.
fn saving(row: &WaitRow) -> f64 {
    if is_short_by_meter(row) || row.median > SHORT_WAIT_S {
        return row.saving;
    }
    row.saving.max((row.waits as f64 * row.median).min(row.waited))
}

/// Whether most waits are short by the cost of a wake-up that was measured.
fn is_short_by_meter(row: &WaitRow) -> bool {
    row.short_share() >= 0.5
}

fn pick(waiters: &[(RecordKind, &Waiter)], seconds: f64, located: &[Located]) -> SitePick {
    let longest = waiters.iter().max_by(|a, b| a.1.row.waited.total_cmp(&b.1.row.waited));
    let &(kind, longest) = longest.expect("a call site has a row at least");
    let saving: f64 = waiters.iter().map(|(_, waiter)| saving(&waiter.row)).sum();
    SitePick {
        name: longest.row.name.clone(),
        place: longest
            .place
            .clone()
            .filter(|place| waiters.iter().all(|(_, waiter)| waiter.place.as_ref() == Some(place))),
        kind,
        waits: waiters.iter().map(|(_, waiter)| waiter.row.waits).sum(),
        short: waiters.iter().map(|(_, waiter)| waiter.row.short).sum(),
        median_s: longest.row.median,
        saving_s: saving.min(seconds),
        located: merge(located.iter().filter(|one| waiters.iter().any(|(_, waiter)| one.is_site(waiter)))),
    }
}

/// One call site of several rows: each of their places identifies it.
fn merge<'l>(mut rows: impl Iterator<Item = &'l Located>) -> Option<Located> {
    let mut one = rows.next()?.clone();
    for row in rows {
        let new = row.places.iter().filter(|place| !one.places.contains(place)).cloned().collect::<Vec<_>>();
        one.places.extend(new);
    }
    Some(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(median: f64, saving: f64) -> WaitRow {
        WaitRow {
            name: "f+0x2d".into(),
            calls: 10_000,
            nowait: 0,
            satisfied: 10_000,
            gave_up: 0,
            waits: 10_000,
            polled: 0,
            waited: 0.7,
            sleep: 0.7,
            share: 0.7,
            mean: 70e-6,
            median,
            max: 0.1,
            short: 0,
            saving,
        }
    }

    /// Call sites of one name are one candidate. As several, they would make `prove` end with "named twice".
    #[test]
    fn call_first_seen_from_two_callers_is_one_site() {
        let waiter = |place: Option<&str>| Waiter {
            row: row(60e-6, 0.001),
            place: place.map(str::to_owned),
            times: unspin_report::Times::default(),
        };
        let (first, second) = (waiter(None), waiter(Some("first seen from main")));
        let site = pick(&[(RecordKind::Semaphore, &first), (RecordKind::Semaphore, &second)], 1.0, &[]);
        assert_eq!((site.name.as_str(), site.place, site.waits), ("f+0x2d", None, 20_000));
        let site = pick(&[(RecordKind::Semaphore, &second)], 1.0, &[]);
        assert_eq!(site.place.as_deref(), Some("first seen from main"));
    }

    #[test]
    fn short_median_bounds_the_saving() {
        assert_eq!(saving(&row(60e-6, 0.001)), 0.6);
        assert_eq!(saving(&row(190e-6, 0.001)), 0.7, "no more than was waited");
        assert_eq!(saving(&row(1e-3, 0.001)), 0.001, "long waits: the meter's bound");
        assert_eq!(saving(&row(1e-6, 0.4)), 0.4);
    }

    /// Issue 30: the head of a page said 762 ms, and its table of waits 714 ms.
    #[test]
    fn saving_of_short_waits_is_that_of_the_lock_table() {
        let redis =
            WaitRow { waits: 19_986, short: 19_106, waited: 0.874, sleep: 0.874, ..row(38.12e-6, 0.714) };
        assert_eq!(saving(&redis), 0.714);
    }
}
