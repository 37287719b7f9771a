//! Recordings that programs write into.

use crate::run;
use std::path::{Path, PathBuf};
use unspin_wire::{Config, Level, Recording, Snapshot};

/// Every level; the odd number has samples fall on each of several callers that take turns.
pub const LEVELS: [Level; 3] = [Level::Counts, Level::Sampled { every: 3 }, Level::Full];

/// A recording, deleted when dropped.
#[derive(Debug)]
pub struct Recorder {
    recording: Recording,
    path: PathBuf,
    _directory: tempfile::TempDir,
}

impl Recorder {
    /// A new one, of as much as `level` says.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn create(level: Level) -> Recorder {
        Recorder::with(Config { level, ..Config::default() })
    }

    /// A new one.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn with(config: Config) -> Recorder {
        let directory = run::scratch();
        let path = directory.path().join("recording");
        let recording = Recording::create(&path, config).unwrap_or_else(|e| panic!("{e}"));
        Recorder { recording, path, _directory: directory }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was recorded so far.
    pub fn snapshot(&self) -> Snapshot {
        self.recording.snapshot()
    }
}
