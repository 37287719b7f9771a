//! The call sites of a metered run: how many waits each had, and how they ended.

use super::metering::Metering;
use serde::Serialize;
use std::collections::BTreeMap;
use unspin_launch::plan::{Located, Place, Span, similar_names};
use unspin_meter::figures::time;
use unspin_meter::{Class, Counts, Histogram, Record, RecordKind, Window};
use unspin_observe::located::call_of;
use unspin_observe::meter::names::{FileAddress, Names, Parts};

/// A call site that waited, or that locked a mutex.
#[derive(Clone, Debug)]
pub struct CallSite {
    /// The name in the report: `worker_loop+0x2d`.
    pub name: String,
    /// The place in the report.
    pub place: Option<String>,
    /// Whether it locks a mutex, which does not count as a wait.
    pub is_mutex: bool,
    /// The addresses of the calls in their files. Empty if unknown.
    file_addresses: Vec<FileAddress>,
    tally: Tally,
}

/// How the waits of one call site ended in one metered run, or those of several call sites with one name in a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallSiteWaits {
    /// Calls.
    pub calls: u64,
    /// Calls that waited.
    pub waits: u64,
    /// Waits in which the thread slept. Waits that were given up count as sleeps, because it is unknown.
    pub slept: u64,
    /// The median wait, in seconds.
    pub median_s: f64,
    /// Time of all threads in these waits, in seconds.
    pub waited_s: f64,
    /// The part of it in which they polled, in seconds.
    pub polled_s: f64,
}

/// Sums over the rows of a recording.
#[derive(Clone, Debug)]
struct Tally {
    counts: Counts,
    waits: Histogram,
    window: Window,
}

/// All call sites of one metered run.
#[derive(Clone, Debug, Default)]
pub struct CallSites {
    sites: Vec<CallSite>,
}

/// Number of call sites that a message suggests for one that never waits.
const NEAREST: usize = 3;
/// Waits that one trial of the policy needs: eight that sleep and eight that poll (docs/waits.md). Call sites with
/// fewer never poll.
pub const TRIAL: u64 = 16;
/// The longest median wait that polling can shorten, in seconds. A thread polls for two wake-ups at most, and a wake-up
/// costs 100 µs at most.
const WITHIN_REACH_S: f64 = 200e-6;

impl CallSites {
    /// The call sites of a metered run.
    pub fn of(metering: &Metering) -> CallSites {
        let snapshot = &metering.snapshot;
        let names = Names::new(snapshot, &metering.lookup, Parts::Together);
        let mut sites = BTreeMap::<(String, Option<String>, bool), CallSite>::new();
        for image in &snapshot.images {
            for (key, record) in &image.rows {
                let Some(kind) = key.kind() else { continue };
                let is_mutex = matches!(kind, RecordKind::Mutex | RecordKind::Reacquired);
                if kind.class() != Class::Wait && !is_mutex {
                    continue;
                }
                let Some(name) = names.name(image, key) else { continue };
                let home = call_of(image, key, &metering.lookup);
                let site = sites.entry((name.caller.clone(), name.place.clone(), is_mutex));
                let site = site.or_insert_with(|| CallSite {
                    name: name.caller,
                    place: name.place,
                    is_mutex,
                    file_addresses: Vec::new(),
                    tally: Tally::new(snapshot.window),
                });
                site.tally.add(record);
                site.file_addresses.extend(home.filter(|home| !site.file_addresses.contains(home)));
            }
        }
        CallSites { sites: sites.into_values().collect() }
    }

    /// How the waits ended that are identified by the places of `located`. None if no call was recorded there.
    ///
    /// The first span of a place is the call. If that is in a runtime library of the language, the further spans are
    /// the callers of the library. The recording contains one of both.
    pub fn waits_at(&self, located: &Located) -> Option<CallSiteWaits> {
        let outer = |place: &Place| place.spans[usize::from(place.spans.len() > 1)..].to_vec();
        let outer: Vec<Span> = located.places.iter().flat_map(outer).collect();
        let calls: Vec<Span> = located.places.iter().map(|place| place.spans[0].clone()).collect();
        let at = |spans: &[Span]| sum(self.sites.iter().filter(|site| site.is_in(spans)));
        at(&outer).or_else(|| at(&calls))
    }

    /// How the waits of the call site with this name in the report ended.
    pub fn waits_named(&self, name: &str, place: Option<&str>) -> Option<CallSiteWaits> {
        let named = |site: &&CallSite| !site.is_mutex && site.name == name && site.place.as_deref() == place;
        sum(self.sites.iter().filter(named))
    }

    /// The call sites that polling can shorten most, in this order: those with many short waits. A call site with few
    /// waits is included only if all have few.
    pub fn costliest(&self, at_most: usize) -> Vec<&CallSite> {
        let sites: Vec<&CallSite> = self.by_cost().into_iter().map(|(_, site)| site).collect();
        let has_many = |site: &&CallSite| site.tally.counts.waiters() >= TRIAL;
        match sites.iter().any(has_many) {
            true => sites.into_iter().filter(has_many).take(at_most).collect(),
            false => sites.into_iter().take(at_most).collect(),
        }
    }

    /// The call sites that waited, by the cost of the waits that polling can shorten, most first.
    fn by_cost(&self) -> Vec<(f64, &CallSite)> {
        let mut waiting: Vec<(f64, &CallSite)> = self
            .sites
            .iter()
            .filter(|site| !site.is_mutex)
            .map(|site| (site.tally.waits(), site))
            .filter(|(waits, _)| waits.waits > 0)
            .map(|(waits, site)| (waits.waits as f64 * waits.median_s.min(WITHIN_REACH_S), site))
            .collect();
        waiting.sort_by(|a, b| b.0.total_cmp(&a.0));
        waiting
    }

    /// `worker_loop+0x2d (3000 waits, median 48us)`: call sites that wait, those with names similar to `name` first.
    pub fn nearest(&self, name: &str) -> Vec<String> {
        let waiting: Vec<&CallSite> = self.by_cost().into_iter().map(|(_, site)| site).collect();
        let within = |name: &str| name.rsplit_once("+0x").map_or(name, |(within, _)| within).to_owned();
        let of_function = waiting.iter().filter(|site| within(&site.name) == within(name));
        let similar = similar_names(name, waiting.iter().map(|site| site.name.as_str()), NEAREST);
        let similar = similar.iter().filter_map(|&name| waiting.iter().find(|site| site.name == name));
        let mut nearest: Vec<&CallSite> = Vec::new();
        for site in of_function.chain(similar).chain(&waiting) {
            if !nearest.iter().any(|known| known.name == site.name) {
                nearest.push(site);
            }
        }
        nearest.truncate(NEAREST);
        nearest.into_iter().map(CallSite::describe).collect()
    }
}

impl CallSite {
    fn is_in(&self, spans: &[Span]) -> bool {
        let holds = |home: &FileAddress| {
            spans.iter().any(|span| span.module == home.module && span.range.contains(&home.address))
        };
        self.file_addresses.iter().any(holds)
    }

    fn describe(&self) -> String {
        let waits = self.tally.waits();
        format!("{} ({} waits, median {})", self.name, waits.waits, time(waits.median_s))
    }
}

impl Tally {
    fn new(window: Window) -> Tally {
        let waits = Histogram::new(unspin_meter::TimeKind::Waits, [0; unspin_meter::BUCKETS]);
        Tally { counts: Counts::default(), waits, window }
    }

    fn add(&mut self, record: &Record) {
        self.counts.merge(&record.counts);
        self.waits.merge(&record.waits);
    }

    fn waits(&self) -> CallSiteWaits {
        let Tally { counts, waits, window } = self;
        let median = waits.median(counts.wait_max).unwrap_or(0.0) / window.ticks_per_second;
        CallSiteWaits {
            calls: counts.attempts(),
            waits: counts.waiters(),
            slept: counts.slept.saturating_add(counts.gave_up),
            median_s: median.min(window.to_seconds(counts.wait_max)),
            waited_s: window.to_seconds(counts.wait()),
            polled_s: window.to_seconds(counts.spin),
        }
    }
}

impl CallSiteWaits {
    /// The share of the waits in which the thread slept; none without waits.
    pub fn slept_share(&self) -> Option<f64> {
        (self.waits > 0).then(|| self.slept as f64 / self.waits as f64)
    }
}

fn sum<'s>(sites: impl Iterator<Item = &'s CallSite>) -> Option<CallSiteWaits> {
    let merged = sites.map(|site| site.tally.clone()).reduce(|mut sum, other| {
        sum.counts.merge(&other.counts);
        sum.waits.merge(&other.waits);
        sum
    });
    merged.map(|tally| tally.waits())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(name: &str, is_mutex: bool, slept: u64, spun: u64, ticks: u64) -> CallSite {
        let window = Window { seconds: 1.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: None };
        let mut tally = Tally::new(window);
        tally.counts = Counts { slept, spun, nowait: 5, wait_max: ticks, ..Counts::default() };
        let mut buckets = [0; unspin_meter::BUCKETS];
        let bucket = (0..unspin_meter::BUCKETS).find(|&b| tally.waits.ticks(b).contains(&ticks)).unwrap();
        buckets[bucket] = slept + spun;
        tally.waits = Histogram::new(unspin_meter::TimeKind::Waits, buckets);
        CallSite { name: name.into(), place: None, is_mutex, file_addresses: Vec::new(), tally }
    }

    fn sites() -> CallSites {
        CallSites {
            sites: vec![
                site("main+0x80", false, 1, 0, 900_000_000),
                site("player+0x5d", false, 3000, 1000, 50_000),
                site("player+0x99", false, 0, 0, 0),
                site("reader+0x10", false, 100, 0, 50_000),
                site("locker+0x10", true, 9000, 0, 50_000),
            ],
        }
    }

    #[test]
    fn call_sites_with_many_short_waits_come_first() {
        let sites = sites();
        let names: Vec<&str> = sites.costliest(9).iter().map(|site| site.name.as_str()).collect();
        assert_eq!(names, ["player+0x5d", "reader+0x10"]);
        let all = sites.by_cost();
        assert_eq!(all.last().unwrap().1.name, "main+0x80", "one long wait");
    }

    #[test]
    fn nearest_names_the_function_s_own_waits_first() {
        let nearest = sites().nearest("reader+0x99");
        assert!(nearest[0].starts_with("reader+0x10 (100 waits, median "), "{nearest:?}");
        assert!(nearest[1].starts_with("player+0x5d (4000 waits"), "{nearest:?}");
    }

    #[test]
    fn share_that_slept_is_of_the_waits() {
        let waits = sites().waits_named("player+0x5d", None).unwrap();
        assert_eq!((waits.calls, waits.waits, waits.slept_share()), (4005, 4000, Some(0.75)));
        assert_eq!(sites().waits_named("player+0x99", None).unwrap().slept_share(), None);
    }
}
