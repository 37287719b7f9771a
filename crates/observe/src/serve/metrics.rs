//! Counters of the most contended locks, for Prometheus.
//!
//! Each lock is a set of labels, and a server of metrics keeps a series for each set that it has ever seen. So there are at most
//! [`LOCKS_SHOWN_MAX`] in a server's life: at each scrape those of the first [`LOCKS_ADDED`] join that have not, as long as there
//! is room, and what was shown once is shown as long as the recording has it. Counters never decrease: the sums of a recording
//! that goes on are those of threads that are at work, and estimates.

use super::response::Response;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::fmt;
use unspin_report::{Lock, MeterReport};
use unspin_sys::printable;

/// The locks that may join at a scrape: those with most time lost.
const LOCKS_ADDED: usize = 20;
/// The locks that are ever shown.
const LOCKS_SHOWN_MAX: usize = 200;
/// Characters of a label. Names of C++ templates have thousands.
const LABEL_MAX: usize = 200;

/// The text form of the counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetricsFormat {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format of Prometheus before OpenMetrics.
    Prometheus,
}

impl MetricsFormat {
    /// The format for a header `Accept`: OpenMetrics, except for a client that names plain text and not OpenMetrics.
    pub fn accepted(accept: &str) -> MetricsFormat {
        let names = |name: &str| accept.to_ascii_lowercase().contains(name);
        match names("text/plain") && !names("application/openmetrics-text") {
            true => MetricsFormat::Prometheus,
            false => MetricsFormat::OpenMetrics,
        }
    }

    fn content_type(self) -> &'static str {
        match self {
            MetricsFormat::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            MetricsFormat::Prometheus => prometheus_text::CONTENT_TYPE,
        }
    }
}

/// The bytes of a recording.
#[derive(Clone, Copy, Debug)]
pub struct RecordingSize {
    /// In use or reserved.
    pub used: u64,
    /// That it can have.
    pub capacity: u64,
}

/// The labels of a lock.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Labels {
    lock: String,
    kind: &'static str,
    place: String,
}

/// The counters of a lock.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Counters {
    wait_s: f64,
    hold_s: f64,
    acquisitions: u64,
    contended: u64,
}

/// The counters that have been shown.
#[derive(Debug, Default)]
pub struct LockMetrics {
    shown: BTreeMap<Labels, Counters>,
    all: Counters,
}

impl LockMetrics {
    /// The answer to a scrape.
    pub fn response(&mut self, report: &MeterReport, size: RecordingSize, format: MetricsFormat) -> Response {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self.scrape(report, size)));
        let mut body = String::new();
        let encoded = match format {
            MetricsFormat::OpenMetrics => text::encode(&mut body, &registry),
            MetricsFormat::Prometheus => prometheus_text::encode(&mut body, &registry),
        };
        encoded.expect("a string takes everything");
        Response::new(format.content_type(), body)
    }

    fn scrape(&mut self, report: &MeterReport, size: RecordingSize) -> Scrape {
        // Labels that were cut can be those of several locks.
        let mut now = BTreeMap::<Labels, Counters>::new();
        for (rank, lock) in report.locks.iter().enumerate() {
            let labels = Labels::of(lock);
            let joins = rank < LOCKS_ADDED && self.shown.len() < LOCKS_SHOWN_MAX;
            if joins || self.shown.contains_key(&labels) {
                self.shown.entry(labels.clone()).or_default();
                now.entry(labels).or_default().add(&Counters::of(lock));
            }
        }
        for (labels, counters) in &mut now {
            let shown = self.shown.get_mut(labels).expect("it was added above");
            shown.raise(counters);
            *counters = *shown;
        }
        let total = &report.total;
        self.all.raise(&Counters {
            wait_s: total.lost,
            hold_s: total.hold,
            acquisitions: total.nowait.saturating_add(total.spun).saturating_add(total.slept),
            contended: total.spun.saturating_add(total.slept),
        });
        Scrape {
            locks: now.into_iter().collect(),
            all: self.all,
            number: report.locks.len() as u64,
            processes: report.processes.len() as u64,
            seconds: report.seconds,
            level: report.level.to_string(),
            dropped: report.unrecorded.overflowed,
            refused: report.unrecorded.threads,
            size,
        }
    }
}

impl Labels {
    fn of(lock: &Lock) -> Labels {
        let kind = lock.uses.first().map_or("lock", |one| one.kind.noun());
        let label = |text: &str| cut(&printable::line(text));
        Labels { lock: label(&lock.row.name), kind, place: label(lock.origin.as_deref().unwrap_or_default()) }
    }

    fn set(&self) -> [(&str, &str); 3] {
        [("lock", &self.lock), ("kind", self.kind), ("place", &self.place)]
    }
}

/// The beginning of a long text.
fn cut(text: &str) -> String {
    match text.char_indices().nth(LABEL_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Counters {
    fn of(lock: &Lock) -> Counters {
        let row = &lock.row;
        let contended = row.spun.saturating_add(row.slept);
        Counters {
            wait_s: row.lost,
            hold_s: row.hold,
            acquisitions: row.nowait.saturating_add(contended),
            contended,
        }
    }

    fn add(&mut self, other: &Counters) {
        self.wait_s += other.wait_s;
        self.hold_s += other.hold_s;
        self.acquisitions = self.acquisitions.saturating_add(other.acquisitions);
        self.contended = self.contended.saturating_add(other.contended);
    }

    fn raise(&mut self, to: &Counters) {
        self.wait_s = self.wait_s.max(to.wait_s);
        self.hold_s = self.hold_s.max(to.hold_s);
        self.acquisitions = self.acquisitions.max(to.acquisitions);
        self.contended = self.contended.max(to.contended);
    }
}

/// What one scrape shows.
#[derive(Debug)]
struct Scrape {
    locks: Vec<(Labels, Counters)>,
    all: Counters,
    number: u64,
    processes: u64,
    seconds: f64,
    level: String,
    dropped: u64,
    refused: u64,
    size: RecordingSize,
}

/// A counter of a lock: its name, unit, help, and value.
type LockCounter = (&'static str, Option<Unit>, &'static str, fn(&Counters) -> f64);

const LOCK_COUNTERS: [LockCounter; 4] = [
    ("wait", Some(Unit::Seconds), "Time that all threads together waited for the lock", |c| c.wait_s),
    ("hold", Some(Unit::Seconds), "Time that the lock was held, summed over its holders", |c| c.hold_s),
    ("acquisitions", None, "Acquisitions of the lock", |c| c.acquisitions as f64),
    ("contended_acquisitions", None, "Acquisitions of the lock after a wait", |c| c.contended as f64),
];

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, unit, help, value) in &LOCK_COUNTERS {
            let name = format!("unspin_lock_{name}");
            let mut metric = encoder.encode_descriptor(&name, help, unit.as_ref(), MetricType::Counter)?;
            for (labels, counters) in &self.locks {
                count(&mut metric.encode_family(&labels.set())?, value(counters))?;
            }
        }
        for (name, unit, help, value) in &LOCK_COUNTERS {
            let (name, help) = (format!("unspin_all_locks_{name}"), format!("{help}: all locks"));
            let mut metric = encoder.encode_descriptor(&name, &help, unit.as_ref(), MetricType::Counter)?;
            count(&mut metric, value(&self.all))?;
        }
        let counters = [
            (
                "unspin_dropped_samples",
                "Samples that were lost because the recording had no room",
                self.dropped,
            ),
            ("unspin_unrecorded_threads", "Threads for which the recording had no room", self.refused),
        ];
        for (name, help, value) in counters {
            count(&mut encoder.encode_descriptor(name, help, None, MetricType::Counter)?, value as f64)?;
        }
        let gauges = [
            ("unspin_locks", None, "Locks, those of one name together", self.number as f64),
            (
                "unspin_processes",
                None,
                "Processes that have used locks, with those that have ended",
                self.processes as f64,
            ),
            ("unspin_recording", Some(Unit::Bytes), "Size of the recording", self.size.used as f64),
            (
                "unspin_recording_limit",
                Some(Unit::Bytes),
                "Size that the recording can have",
                self.size.capacity as f64,
            ),
            ("unspin_recorded", Some(Unit::Seconds), "Time since the program was started", self.seconds),
        ];
        for (name, unit, help, value) in &gauges {
            encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?.encode_gauge(value)?;
        }
        let mut level = encoder.encode_descriptor(
            "unspin_meter",
            "How the program is metered",
            None,
            MetricType::Info,
        )?;
        level.encode_info(&[("level", self.level.as_str())])
    }
}

fn count(metric: &mut MetricEncoder<'_>, value: f64) -> fmt::Result {
    metric.encode_counter::<NoLabelSet, _, u64>(&value, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_report::Name;
    use unspin_wire::{Counts, Image, Key, RecordKind, Snapshot, Window};

    const SIZE: RecordingSize = RecordingSize { used: 4096, capacity: 8192 };

    /// Locks with these numbers, and each with as many waits of a second.
    fn report(locks: impl IntoIterator<Item = (u64, u64)>, name: &dyn Fn(u64) -> String) -> MeterReport {
        let window = Window { seconds: 2.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: None };
        let row = |(lock, waits): (u64, u64)| {
            let counts =
                Counts { nowait: 5, slept: waits, sleep: waits * 1_000_000_000, ..Counts::default() };
            (Key::new(RecordKind::Mutex, lock as usize, 1), counts)
        };
        let snapshot = Snapshot::of_rows(window, locks.into_iter().map(row));
        let names = |_: &Image, key: &Key| -> Option<Name> {
            Some(Name {
                origin: Some("static, a.c:1".into()),
                ..Name::from((name(key.address()), "f".into()))
            })
        };
        MeterReport::new(&snapshot, &names)
    }

    fn lock_number(number: u64) -> String {
        format!("lock_{number}")
    }

    fn waits(scrape: &Scrape) -> BTreeMap<String, f64> {
        scrape.locks.iter().map(|(labels, counters)| (labels.lock.clone(), counters.wait_s)).collect()
    }

    #[test]
    fn locks_with_most_waits_join_and_stay() {
        let mut metrics = LockMetrics::default();
        let first = metrics.scrape(&report((1..=30).map(|n| (n, 100 + n)), &lock_number), SIZE);
        assert_eq!((first.locks.len(), first.number), (LOCKS_ADDED, 30));
        assert!(waits(&first).contains_key("lock_30") && !waits(&first).contains_key("lock_10"));
        let later = (1..=30).map(|n| (n, if n <= 10 { 1000 } else { 100 + n }));
        let second = metrics.scrape(&report(later, &lock_number), SIZE);
        assert_eq!(second.locks.len(), 30, "ten have joined, and none has left");
        // Over a month other locks are at the top again and again.
        for round in 0..50u64 {
            let others = (1..=30).map(|n| (n, 100)).chain((0..20).map(|n| (100 * (round + 1) + n, 5000)));
            let scrape = metrics.scrape(&report(others, &lock_number), SIZE);
            assert!(waits(&scrape).contains_key("lock_30") && scrape.locks.len() <= 50);
        }
        assert_eq!(metrics.shown.len(), LOCKS_SHOWN_MAX);
    }

    #[test]
    fn counters_never_decrease() {
        let mut metrics = LockMetrics::default();
        metrics.scrape(&report([(1, 10)], &lock_number), SIZE);
        let scrape = metrics.scrape(&report([(1, 9)], &lock_number), SIZE);
        assert_eq!((waits(&scrape)["lock_1"], scrape.all.wait_s), (10.0, 10.0));
        let scrape = metrics.scrape(&report([(1, 12)], &lock_number), SIZE);
        assert_eq!((waits(&scrape)["lock_1"], scrape.all.wait_s), (12.0, 12.0));
    }

    #[test]
    fn labels_are_escaped_and_cut() {
        let name = |number: u64| match number {
            1 => "a\"b\\c\nd".to_owned(),
            _ => format!("{}{number}", "x".repeat(LABEL_MAX)),
        };
        let mut metrics = LockMetrics::default();
        let scrape = metrics.scrape(&report([(1, 1), (2, 2), (3, 3)], &name), SIZE);
        let long = format!("{}…", "x".repeat(LABEL_MAX));
        assert_eq!(waits(&scrape)[&long], 5.0, "two locks whose labels are the same");
        let mut registry = Registry::default();
        registry.register_collector(Box::new(scrape));
        for encode in [text::encode::<String>, prometheus_text::encode::<String>] {
            let mut body = String::new();
            encode(&mut body, &registry).unwrap();
            let line = r#"unspin_lock_wait_seconds_total{lock="a\"b\\c\\nd",kind="mutex",place="static, a.c:1"} 1.0"#;
            assert!(body.lines().any(|one| one == line), "{body}");
        }
    }

    #[test]
    fn client_gets_the_format_that_it_names() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        for accept in ["", "*/*", prometheus] {
            assert_eq!(MetricsFormat::accepted(accept), MetricsFormat::OpenMetrics, "{accept}");
        }
        assert_eq!(MetricsFormat::accepted("text/plain;version=0.0.4"), MetricsFormat::Prometheus);
    }
}
