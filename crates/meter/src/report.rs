//! The report: locks by time lost, callers beneath.

use crate::counts::Counts;
use crate::event::Event;
use crate::figures::{number, spoken_percent};
use crate::name::{Name, Names};
use crate::recording::Recording;
use crate::row::Row;
use crate::snapshot::{Snapshot, Unrecorded};
use crate::window::Window;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What [`Report::schema`] says.
pub const SCHEMA: &str = "unspin-locks";
/// What [`Report::version`] says: raised when a field changes its meaning or goes.
pub const SCHEMA_VERSION: u32 = 1;

/// One lock with its callers; or several locks of one name, folded.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Lock {
    /// How many locks these are. Their row is their sum; [`Lock::util_each`] is the mean.
    pub locks: u64,
    /// The lock's columns.
    #[serde(flatten)]
    pub row: Row,
    /// The same per caller, most time lost first.
    pub callers: Vec<Row>,
}

/// How often something happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EventCount {
    /// What.
    pub event: Event,
    /// How often.
    pub count: u64,
}

/// The table as data: everything that the printed forms show, and what JSON holds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`SCHEMA_VERSION`].
    pub version: u32,
    /// Seconds metered.
    pub seconds: f64,
    /// CPUs that the program could run on.
    pub cpus: u32,
    /// CPU time of the program in seconds, where known.
    pub cpu_seconds: Option<f64>,
    /// All locks together. A thread that holds two locks is counted for both: `util` and `cpus` of this row
    /// are no share of anything and are not printed.
    pub total: Row,
    /// The locks, most time lost first.
    pub locks: Vec<Lock>,
    /// The events that happened at all.
    pub events: Vec<EventCount>,
    /// What the tables do not hold.
    pub unrecorded: Unrecorded,
}

impl Report {
    /// The report of a recording as it stands. Keys that `names` does not know are shown as numbers.
    pub fn from_recording(recording: &Recording, names: &Names<'_>) -> Report {
        Report::new(&recording.snapshot(), names)
    }

    /// The report of a snapshot.
    pub fn new(snapshot: &Snapshot, names: &Names<'_>) -> Report {
        let window = &snapshot.window;
        let mut groups = BTreeMap::<String, Group>::new();
        let mut total = Counts::default();
        let rows = snapshot.images.iter().flat_map(|image| image.rows.iter().map(move |row| (image, row)));
        for (image, (key, record)) in rows {
            let unknown = || (format!("{:#x}", key.lock), format!("{:#x}", key.caller)).into();
            let Name { lock, caller, .. } = names(image, key).unwrap_or_else(unknown);
            groups.entry(lock).or_default().add(key.lock, caller, &record.counts);
            total.merge(&record.counts);
        }
        let mut locks: Vec<Lock> =
            groups.into_iter().map(|(name, group)| group.finish(name, window)).collect();
        locks.sort_by(|a, b| by_loss(&a.row, &b.row));
        let happened = |event: Event| {
            let count = snapshot.event(event);
            (count > 0).then_some(EventCount { event, count })
        };
        Report {
            schema: SCHEMA.into(),
            version: SCHEMA_VERSION,
            seconds: window.seconds,
            cpus: window.cpus,
            cpu_seconds: window.cpu_seconds,
            total: Row::from_counts("*TOTAL*", &total, window),
            locks,
            events: Event::ALL.into_iter().filter_map(happened).collect(),
            unrecorded: snapshot.unrecorded,
        }
    }

    /// The lock of that name.
    pub fn lock(&self, name: &str) -> Option<&Lock> {
        self.locks.iter().find(|lock| lock.row.name == name)
    }
}

/// Most time lost first; then the most used; then by name, so that the order is always the same.
fn by_loss(a: &Row, b: &Row) -> std::cmp::Ordering {
    b.lost.total_cmp(&a.lost).then(b.attempts.cmp(&a.attempts)).then_with(|| a.name.cmp(&b.name))
}

/// The keys of one lock name.
#[derive(Default)]
struct Group {
    locks: BTreeSet<u64>,
    callers: BTreeMap<String, Counts>,
    counts: Counts,
}

impl Group {
    fn add(&mut self, lock: u64, caller: String, counts: &Counts) {
        self.locks.insert(lock);
        self.callers.entry(caller).or_default().merge(counts);
        self.counts.merge(counts);
    }

    fn finish(self, name: String, window: &Window) -> Lock {
        let mut callers: Vec<Row> =
            self.callers.into_iter().map(|(name, counts)| Row::from_counts(name, &counts, window)).collect();
        callers.sort_by(by_loss);
        Lock { locks: self.locks.len() as u64, row: Row::from_counts(name, &self.counts, window), callers }
    }
}

impl Lock {
    /// Mean utilisation of the folded locks, as report 003 has it for its 8 run queues.
    pub fn util_each(&self) -> f64 {
        self.row.util / self.locks.max(1) as f64
    }

    /// Report 003's sentence: `The (1) runqueue_lock was utilized 76.3 % and spun for 47.4 % for a total of
    /// 4.56 of the 8 CPUs.`
    pub fn headline(&self, cpus: u32) -> String {
        let (plural, verb) = if self.locks == 1 { ("", "was") } else { ("s", "were") };
        format!(
            "The ({}) {}{plural} {verb} utilized {} and spun for {} for a total of {} of the {cpus} CPUs.",
            self.locks,
            self.row.name,
            spoken_percent(self.util_each()),
            spoken_percent(self.row.spin_cpu),
            number(self.row.cpus),
        )
    }
}
