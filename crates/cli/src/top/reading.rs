//! A reading: the report of one snapshot.

use unspin_observe::meter::known_names::{KnownFrames, KnownNames};
use unspin_observe::meter::names::{Lookup, Parts};
use unspin_report::{Figures, Fold, LockInUse, MeterReport, ReportOptions, interval};
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

/// Makes readings of snapshots. Keeps the previous snapshot and the names.
pub struct TableReader {
    fold: Fold,
    before: Option<Snapshot>,
    names: KnownNames,
}

impl TableReader {
    /// Before the first reading.
    pub fn new(fold: Fold) -> TableReader {
        let parts = match fold {
            Fold::ByName => Parts::Together,
            Fold::Apart => Parts::Apart,
        };
        TableReader { fold, before: None, names: KnownNames::new(parts, KnownFrames::LeftOut) }
    }

    /// Makes a reading of a snapshot.
    pub fn read(&mut self, mut snapshot: Snapshot) -> Reading {
        let modules = snapshot.images.iter().map(|image| image.modules.len() as u64).sum();
        if !self.names.has(&snapshot, modules) {
            self.names.learn(&snapshot, modules);
        }
        for image in &mut snapshot.images {
            // Stacks serve only for names, and are by far the largest part.
            (image.stacks, image.modules) = Default::default();
        }
        let names = |image: &Image, key: &Key| self.names.name(image, key);
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

    /// The cache of the name lookup.
    pub fn lookup(&self) -> &Lookup {
        self.names.lookup()
    }
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
