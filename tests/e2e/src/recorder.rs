//! Recordings that programs write into.

use crate::run;
use std::path::{Path, PathBuf};
use unspin_meter::{Config, Recording, Snapshot};

/// A recording, deleted when dropped.
#[derive(Debug)]
pub struct Recorder {
    recording: Recording,
    path: PathBuf,
    _directory: tempfile::TempDir,
}

impl Recorder {
    /// A new one.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn create() -> Recorder {
        let directory = run::scratch();
        let path = directory.path().join("recording");
        let recording = Recording::create(&path, Config::default()).unwrap_or_else(|e| panic!("{e}"));
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
