//! A reading: the report of one snapshot.

use super::interval;
use std::collections::HashMap;
use unspin_observe::meter::names::{Lookup, Names, Parts};
use unspin_report::{Figures, Fold, LockInUse, MeterReport, Name, ReportOptions};
use unspin_wire::{Image, Key, Snapshot};

/// A part of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// Locks.
    Locks,
    /// Waits that are not for locks.
    Waits,
}

/// A period of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Period {
    /// Since the previous reading.
    Lately,
    /// Since the start of the program.
    SinceStart,
}

impl Period {
    /// How sums of the period are shown.
    pub fn figures(self) -> Figures {
        match self {
            Period::Lately => Figures::Rates,
            Period::SinceStart => Figures::Sums,
        }
    }
}

/// A process, by pid and start time, and a key in it.
type KeyOfProcess = (u32, u64, Key);

/// Makes readings of snapshots. Keeps the previous snapshot and the names.
pub struct TableReader {
    lookup: Lookup,
    fold: Fold,
    before: Option<Snapshot>,
    names: HashMap<KeyOfProcess, Name>,
    /// Numbers of rows and module lists from which the names were made.
    known: (usize, usize),
}

impl TableReader {
    /// Before the first reading.
    pub fn new(fold: Fold) -> TableReader {
        TableReader { lookup: Lookup::new(), fold, before: None, names: HashMap::new(), known: (0, 0) }
    }

    /// Makes a reading of a snapshot.
    pub fn read(&mut self, mut snapshot: Snapshot) -> Reading {
        self.name(&snapshot);
        for image in &mut snapshot.images {
            // Stacks serve only for names, and are by far the largest part.
            (image.stacks, image.modules) = Default::default();
        }
        let names = |image: &Image, key: &Key| self.names.get(&place(image, key)).cloned();
        let options = ReportOptions { fold: self.fold, ..ReportOptions::default() };
        let between = self.before.as_ref().and_then(|before| interval::between(before, &snapshot));
        let reading = Reading {
            threads: snapshot.images.iter().map(running_threads).sum(),
            since_start: MeterReport::with(&snapshot, &names, options),
            lately: between.map(|between| MeterReport::with(&between, &names, options)),
        };
        self.before = Some(snapshot);
        reading
    }

    /// Looks up all names again if there are new rows or modules, because the name of a lock depends on the others. The
    /// lookup caches the expensive parts.
    fn name(&mut self, snapshot: &Snapshot) {
        let rows = snapshot.images.iter().map(|image| image.rows.len()).sum();
        let modules = snapshot.images.iter().map(|image| image.modules.len()).sum();
        if self.known == (rows, modules) {
            return;
        }
        let parts = match self.fold {
            Fold::ByName => Parts::Together,
            Fold::Apart => Parts::Apart,
        };
        let names = Names::new(snapshot, &self.lookup, parts);
        let all = snapshot.images.iter().flat_map(|image| image.rows.keys().map(move |key| (image, key)));
        self.names =
            all.filter_map(|(image, key)| Some((place(image, key), names.name(image, key)?))).collect();
        self.known = (rows, modules);
    }

    /// The cache of the name lookup.
    pub fn lookup(&self) -> &Lookup {
        &self.lookup
    }
}

fn place(image: &Image, key: &Key) -> KeyOfProcess {
    (image.pid, image.since, *key)
}

fn running_threads(image: &Image) -> usize {
    image.threads.iter().filter(|thread| thread.tid != 0).count()
}

/// The table at one time.
pub struct Reading {
    /// Everything since the start of the program.
    pub since_start: MeterReport,
    /// The changes since the previous reading; none for the first.
    pub lately: Option<MeterReport>,
    /// Number of living threads that have used a lock.
    pub threads: usize,
}

impl Reading {
    /// The report of a period.
    pub fn report(&self, period: Period) -> Option<&MeterReport> {
        match period {
            Period::SinceStart => Some(&self.since_start),
            Period::Lately => self.lately.as_ref(),
        }
    }

    /// The threads that hold a lock of this name, and for how many seconds if that is timed; the longest first.
    pub fn holders(&self, name: &str) -> Vec<(&LockInUse, Option<f64>)> {
        let now = self.since_start.seconds;
        let held = self.since_start.held.iter().filter(|held| held.lock == name);
        let mut holders: Vec<_> =
            held.map(|held| (held, held.since.map(|since| (now - since).max(0.0)))).collect();
        holders.sort_by(|a, b| b.1.unwrap_or(0.0).total_cmp(&a.1.unwrap_or(0.0)));
        holders
    }
}
