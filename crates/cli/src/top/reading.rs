//! What one look at the recording has shown.

use super::interval;
use crate::meter::names::{Lookup, Names, Parts};
use std::collections::HashMap;
use unspin_meter::{Fold, HeldLock, Image, Key, Name, Options, Report, Snapshot};

/// Which part of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// Locks.
    Locks,
    /// What threads wait for other than locks.
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

/// A process by what does not change, and a key of it.
type KeyOfProcess = (u32, u64, Key);

/// Makes readings of snapshots: remembers the one before, and names.
pub struct Reader {
    lookup: Lookup,
    fold: Fold,
    before: Option<Snapshot>,
    names: HashMap<KeyOfProcess, Name>,
    /// Rows and lists of modules that the names were made from.
    known: (usize, usize),
}

impl Reader {
    /// Nothing read yet.
    pub fn new(fold: Fold) -> Reader {
        Reader { lookup: Lookup::new(), fold, before: None, names: HashMap::new(), known: (0, 0) }
    }

    /// Reads a snapshot.
    pub fn read(&mut self, mut snapshot: Snapshot) -> Reading {
        self.name(&snapshot);
        for image in &mut snapshot.images {
            // They serve for names only, and are by far the largest part.
            (image.stacks, image.modules) = Default::default();
        }
        let names = |image: &Image, key: &Key| self.names.get(&place(image, key)).cloned();
        let options = Options { fold: self.fold, ..Options::default() };
        let between = self.before.as_ref().and_then(|before| interval::between(before, &snapshot));
        let reading = Reading {
            threads: snapshot.images.iter().map(running_threads).sum(),
            since_start: Report::with(&snapshot, &names, options),
            lately: between.map(|between| Report::with(&between, &names, options)),
        };
        self.before = Some(snapshot);
        reading
    }

    /// Names are looked up when there are rows or modules that there were not before; all of them, as what a lock is called
    /// depends on the others too. What takes time is remembered by the lookup.
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

    /// What the names were looked up in.
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
    /// All since the program began.
    pub since_start: Report,
    /// What happened since the reading before; none if this is the first.
    pub lately: Option<Report>,
    /// Threads that have used a lock and have not ended.
    pub threads: usize,
}

impl Reading {
    /// The report of a period.
    pub fn report(&self, period: Period) -> Option<&Report> {
        match period {
            Period::SinceStart => Some(&self.since_start),
            Period::Lately => self.lately.as_ref(),
        }
    }

    /// Who holds a lock of that name now, and for how many seconds where that is timed; the longest first.
    pub fn holders(&self, name: &str) -> Vec<(&HeldLock, Option<f64>)> {
        let now = self.since_start.seconds;
        let held = self.since_start.held.iter().filter(|held| held.lock == name);
        let mut holders: Vec<_> =
            held.map(|held| (held, held.since.map(|since| (now - since).max(0.0)))).collect();
        holders.sort_by(|a, b| b.1.unwrap_or(0.0).total_cmp(&a.1.unwrap_or(0.0)));
        holders
    }
}
