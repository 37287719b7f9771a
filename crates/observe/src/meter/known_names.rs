//! The names of all rows of a recording while it goes on.

use super::names::{Lookup, Names, Parts};
use std::collections::HashMap;
use unspin_report::{Name, pprof};
use unspin_wire::{Image, Key, Snapshot};

/// A process, by pid and start time, and a key in it.
type KeyOfProcess = (u32, u64, Key);
/// A process, by pid and start time, and the address of a caller.
type CallerOfProcess = (u32, u64, u64);

/// What is kept besides names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KnownFrames {
    /// The functions of each caller, for profiles.
    Kept,
    /// Nothing.
    LeftOut,
}

/// The names of the rows of the latest snapshot that had other rows or modules than the one before.
pub struct KnownNames {
    lookup: Lookup,
    parts: Parts,
    keep: KnownFrames,
    names: HashMap<KeyOfProcess, Name>,
    frames: HashMap<CallerOfProcess, Vec<pprof::Frame>>,
    /// Number of rows, and of texts, from which the names were made.
    known: (usize, u64),
}

impl KnownNames {
    /// None yet.
    pub fn new(parts: Parts, keep: KnownFrames) -> KnownNames {
        let (names, frames) = (HashMap::new(), HashMap::new());
        KnownNames { lookup: Lookup::new(), parts, keep, names, frames, known: (0, 0) }
    }

    /// Whether the names of all rows of this snapshot are known. `texts` is a number that grows with the modules and stacks of
    /// the recording.
    pub fn has(&self, snapshot: &Snapshot, texts: u64) -> bool {
        self.known == (rows(snapshot), texts)
    }

    /// Looks up all names again, because the name of a lock depends on the others. The lookup caches the expensive parts. The
    /// snapshot has modules and stacks.
    pub fn learn(&mut self, snapshot: &Snapshot, texts: u64) {
        let names = Names::new(snapshot, &self.lookup, self.parts);
        let all = || snapshot.images.iter().flat_map(|image| image.rows.keys().map(move |key| (image, key)));
        self.names =
            all().filter_map(|(image, key)| Some((place(image, key), names.name(image, key)?))).collect();
        if self.keep == KnownFrames::Kept {
            self.frames.clear();
            for (image, key) in all() {
                let frames = || names.frames(image, key);
                self.frames.entry((image.pid, image.since, key.caller)).or_insert_with(frames);
            }
        }
        self.known = (rows(snapshot), texts);
    }

    /// The name of a row.
    pub fn name(&self, image: &Image, key: &Key) -> Option<Name> {
        self.names.get(&place(image, key)).cloned()
    }

    /// The functions of the caller of a row, innermost first.
    pub fn frames(&self, image: &Image, key: &Key) -> Vec<pprof::Frame> {
        self.frames.get(&(image.pid, image.since, key.caller)).cloned().unwrap_or_default()
    }

    /// The cache of the name lookup.
    pub fn lookup(&self) -> &Lookup {
        &self.lookup
    }
}

fn place(image: &Image, key: &Key) -> KeyOfProcess {
    (image.pid, image.since, *key)
}

fn rows(snapshot: &Snapshot) -> usize {
    snapshot.images.iter().map(|image| image.rows.len()).sum()
}
