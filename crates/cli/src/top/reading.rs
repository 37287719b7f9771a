//! What one look at the recording has shown.

use super::interval;
use crate::meter::names::{Fold, Lookup, Names};
use std::collections::HashMap;
use std::rc::Rc;
use unspin_meter::{BUCKETS, Class, Histogram, Image, Key, Level, Lock, Name, Of, Report, Row, Snapshot, Unrecorded, Window};

/// Which part of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// Locks.
    Locks,
    /// Conditions, barriers, semaphores.
    Waits,
}

/// Which stretch of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Period {
    /// Since the reading before.
    Lately,
    /// Since the program began.
    SinceStart,
}

/// One process's key, as it stays the same over snapshots.
type Place = (u32, u64, Key);
type Labels = HashMap<Place, Name>;

/// Makes readings of snapshots: remembers the one before, and names.
pub struct Reader {
    lookup: Lookup,
    fold: Fold,
    before: Option<Rc<Snapshot>>,
    labels: Rc<Labels>,
    /// What the labels were made from.
    stamp: (usize, usize),
}

impl Reader {
    /// Nothing read yet.
    pub fn new(fold: Fold) -> Reader {
        Reader { lookup: Lookup::new(), fold, before: None, labels: Rc::default(), stamp: (0, 0) }
    }

    /// Reads a snapshot.
    pub fn read(&mut self, mut snapshot: Snapshot) -> Reading {
        self.name(&snapshot);
        for image in &mut snapshot.images {
            // They serve for names only, and are by far the largest part.
            (image.stacks, image.modules) = Default::default();
        }
        let snapshot = Rc::new(snapshot);
        let before = self.before.replace(Rc::clone(&snapshot));
        let between = before.and_then(|before| interval::between(&before, &snapshot));
        Reading {
            since_start: View::new(Rc::clone(&snapshot), &self.labels),
            lately: between.map(|between| View::new(Rc::new(between), &self.labels)),
            labels: Rc::clone(&self.labels),
        }
    }

    /// The whole report, as `unspin meter` prints it.
    pub fn report(&self, snapshot: &Snapshot) -> Report {
        let names = Names::new(snapshot, &self.lookup, self.fold);
        Report::new(snapshot, &|image, key| names.name(image, key))
    }

    /// Names are looked up when there are rows or modules that there were not before; all of them, as what a lock is called
    /// depends on the others too. What takes time is remembered by the lookup.
    fn name(&mut self, snapshot: &Snapshot) {
        let rows = snapshot.images.iter().map(|image| image.rows.len()).sum();
        let modules = snapshot.images.iter().map(|image| image.modules.len()).sum();
        if self.stamp == (rows, modules) {
            return;
        }
        let names = Names::new(snapshot, &self.lookup, self.fold);
        let labels = snapshot.images.iter().flat_map(|image| {
            let names = &names;
            image.rows.keys().filter_map(move |key| Some((place(image, key), names.name(image, key)?)))
        });
        self.labels = Rc::new(labels.collect());
        self.stamp = (rows, modules);
    }
}

fn place(image: &Image, key: &Key) -> Place {
    (image.pid, image.since, *key)
}

/// A table of locks and waits, at one time.
pub struct Reading {
    since_start: View,
    lately: Option<View>,
    labels: Rc<Labels>,
}

/// The counts of a stretch of time.
struct View {
    snapshot: Rc<Snapshot>,
    locks: Report,
    waits: Report,
}

impl View {
    fn new(snapshot: Rc<Snapshot>, labels: &Labels) -> View {
        let report = |class| {
            let names = |image: &Image, key: &Key| labels.get(&place(image, key)).cloned();
            Report::new(&only(&snapshot, class), &names)
        };
        let (locks, waits) = (report(Class::Lock), report(Class::Wait));
        View { snapshot, locks, waits }
    }
}

fn only(snapshot: &Snapshot, class: Class) -> Snapshot {
    let images = snapshot.images.iter().map(|image| {
        let rows = image.rows.iter().filter(|(key, _)| key.kind().is_some_and(|kind| kind.class() == class));
        Image { rows: rows.map(|(key, record)| (*key, *record)).collect(), ..super::interval::about(image) }
    });
    Snapshot { images: images.collect(), ..*snapshot }
}

/// What is known of the program as a whole.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Facts {
    /// Seconds since it was started.
    pub seconds: f64,
    /// CPUs that it may run on.
    pub cpus: u32,
    /// How much is recorded.
    pub level: Level,
    /// Processes that have used a lock.
    pub processes: usize,
    /// Threads that have used a lock and have not ended.
    pub threads: usize,
    /// What is missing in the table.
    pub unrecorded: Unrecorded,
}

/// Everything about one lock.
pub struct Detail {
    /// Its columns, and its callers'.
    pub lock: Lock,
    /// How long it was held.
    pub holds: Histogram,
    /// How long it was waited for.
    pub waits: Histogram,
    /// Ticks in a second, for the histograms.
    pub ticks_per_second: f64,
    /// Who holds it now.
    pub holders: Vec<Holder>,
}

/// A thread that holds a lock.
#[derive(Clone, PartialEq, Debug)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// Its thread id.
    pub tid: u32,
    /// Who took the lock.
    pub caller: String,
    /// For how many seconds it has held it, where that is timed.
    pub seconds: Option<f64>,
}

impl Reading {
    fn view(&self, period: Period) -> Option<&View> {
        match period {
            Period::SinceStart => Some(&self.since_start),
            Period::Lately => self.lately.as_ref(),
        }
    }

    /// The report of a period; none of the last interval before there are two readings.
    pub fn report(&self, section: Section, period: Period) -> Option<&Report> {
        let view = self.view(period)?;
        Some(match section {
            Section::Locks => &view.locks,
            Section::Waits => &view.waits,
        })
    }

    /// About the program.
    pub fn facts(&self) -> Facts {
        let snapshot = &self.since_start.snapshot;
        let Window { seconds, cpus, .. } = snapshot.window;
        let recorded = snapshot.images.iter().filter(|image| !image.rows.is_empty());
        let threads = |image: &Image| image.threads.iter().filter(|thread| thread.tid != 0).count();
        Facts {
            seconds,
            cpus,
            level: snapshot.level,
            processes: recorded.clone().count(),
            threads: recorded.map(threads).sum(),
            unrecorded: snapshot.unrecorded,
        }
    }

    /// About one lock; none if nothing happened to it in that time.
    pub fn detail(&self, name: &str, section: Section, period: Period) -> Option<Detail> {
        let lock = self.report(section, period)?.lock(name)?.clone();
        let snapshot = &self.view(period)?.snapshot;
        let mut holds = Histogram::new(Of::Holds, [0; BUCKETS]);
        let mut waits = Histogram::new(Of::Waits, [0; BUCKETS]);
        let rows = snapshot.images.iter().flat_map(|image| image.rows.iter().map(move |row| (image, row)));
        for (_, (_, record)) in rows.filter(|(image, (key, _))| self.is(image, key, name)) {
            holds.merge(&record.holds);
            waits.merge(&record.waits);
        }
        let ticks_per_second = snapshot.window.ticks_per_second;
        Some(Detail { lock, holds, waits, ticks_per_second, holders: self.holders(name) })
    }

    fn is(&self, image: &Image, key: &Key, name: &str) -> bool {
        self.labels.get(&place(image, key)).is_some_and(|label| label.lock == name)
    }

    fn holders(&self, name: &str) -> Vec<Holder> {
        let snapshot = &self.since_start.snapshot;
        let now = snapshot.window.seconds;
        let mut holders = Vec::new();
        for image in &snapshot.images {
            for thread in &image.threads {
                let held = thread.holds.iter().filter(|(key, _)| self.is(image, key, name));
                holders.extend(held.map(|(key, since)| Holder {
                    pid: image.pid,
                    tid: thread.tid,
                    caller: self.labels.get(&place(image, key)).map_or(String::new(), |label| label.caller.clone()),
                    seconds: (*since > 0).then(|| (now - snapshot.window.to_seconds(*since)).max(0.0)),
                }));
            }
        }
        holders.sort_by(|a, b| b.seconds.unwrap_or(0.0).total_cmp(&a.seconds.unwrap_or(0.0)));
        holders
    }

    /// The figures of all locks together since the start, and lately.
    pub fn totals(&self) -> (&Row, Option<&Row>) {
        (&self.since_start.locks.total, self.lately.as_ref().map(|view| &view.locks.total))
    }
}
