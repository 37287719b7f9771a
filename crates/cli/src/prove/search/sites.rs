//! The call sites whose waits are worth polling in.

use super::super::metering::Metering;
use crate::plan::Located;
use serde::Serialize;
use std::collections::BTreeMap;
use unspin_meter::{RecordKind, WaitRow, Waiter};

/// The least share of the wall time that polling in a wait must be able to save. A wait that is over sooner shortens the run by as
/// much at most, whatever the number of CPUs: so it is a share of wall time, not of wall time × CPUs. Below it the gain drowns in
/// the noise of most machines, and the saving is an upper bound.
pub const WORTH_POLLING: f64 = 0.02;
/// A median wait up to which a call site is worth a try though its waits exceed what the meter takes for short. The cost of a wake-up
/// was measured in some moment; on a machine that was busy then it seems lower than what the program pays (5 µs to 100 µs).
const SHORT_WAIT_S: f64 = 200e-6;
/// Call sites that are tried one by one at most.
const SITES: usize = 2;

/// A call site that was picked.
#[derive(Clone, Debug, Serialize)]
pub struct SitePick {
    /// Its name, as the report has it.
    pub name: String,
    /// Where it is, as the report has it.
    pub place: Option<String>,
    /// What it waits for; of several what it waits longest for.
    pub kind: RecordKind,
    /// Calls that waited.
    pub waits: u64,
    /// Those that were so short that polling could have spared the sleep.
    pub short: u64,
    /// The median wait in seconds; of several kinds that of `kind`.
    pub median_s: f64,
    /// What polling could save at most, in seconds.
    pub saving_s: f64,
    /// Where the preload library recognises it; none if it can only be polled in together with all others.
    #[serde(skip)]
    pub located: Option<Located>,
}

/// What polling before sleeping could do.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Polling {
    /// Calls that waited, anywhere.
    pub waits: u64,
    /// What polling could save at most, in seconds: the saving of the one call site that could save most, since those of partners
    /// that wait for each other are the same.
    pub saving_s: f64,
    /// What a wake-up costs on this machine, in seconds; none if it could not be measured.
    pub wake_up_s: Option<f64>,
    /// The call sites that could save enough, most first.
    pub sites: Vec<SitePick>,
}

impl Polling {
    /// Of a metered run.
    pub fn of(metering: &Metering) -> Polling {
        let report = &metering.report;
        // By the name that stands behind the @ of --waits: a call that was first seen from several callers is one site.
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

    /// Whether it is worth a try.
    pub fn is_promising(&self) -> bool {
        !self.sites.is_empty()
    }

    /// The call sites that are tried alone: if there is only one, that is what polling everywhere amounts to.
    pub fn apart(&self) -> &[SitePick] {
        if self.sites.len() < 2 { &[] } else { &self.sites[..SITES] }
    }
}

/// A bound on what polling could save: the meter's; or, where the median wait is short, the time of as many waits of that length.
fn saving(row: &WaitRow) -> f64 {
    let median_waits = if row.median <= SHORT_WAIT_S { row.waits as f64 * row.median } else { 0.0 };
    row.saving.max(median_waits.min(row.waited))
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
        located: merged(located.iter().filter(|one| waiters.iter().any(|(_, waiter)| one.is_site(waiter)))),
    }
}

/// One call site of several rows: it is recognised at the places of any of them.
fn merged<'l>(mut rows: impl Iterator<Item = &'l Located>) -> Option<Located> {
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

    /// `prove` ended with "named twice" otherwise: one name behind the @ is one candidate.
    #[test]
    fn a_call_first_seen_from_two_callers_is_one_site() {
        let waiter = |place: Option<&str>| Waiter {
            row: row(60e-6, 0.001),
            place: place.map(str::to_owned),
            times: unspin_meter::Times::default(),
        };
        let (first, second) = (waiter(None), waiter(Some("first seen from main")));
        let site = pick(&[(RecordKind::Semaphore, &first), (RecordKind::Semaphore, &second)], 1.0, &[]);
        assert_eq!((site.name.as_str(), site.place, site.waits), ("f+0x2d", None, 20_000));
        let site = pick(&[(RecordKind::Semaphore, &second)], 1.0, &[]);
        assert_eq!(site.place.as_deref(), Some("first seen from main"));
    }

    #[test]
    fn saving_is_bounded_by_the_median_where_that_is_short() {
        assert_eq!(saving(&row(60e-6, 0.001)), 0.6);
        assert_eq!(saving(&row(190e-6, 0.001)), 0.7, "no more than was waited");
        assert_eq!(saving(&row(1e-3, 0.001)), 0.001, "long waits: the meter's bound");
        assert_eq!(saving(&row(1e-6, 0.4)), 0.4);
    }
}
