//! A recording for one run, removed with what is in it.

use crate::measurement::World;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use unspin_wire::{Config, Recording};

/// A recording that one program is to fill.
#[derive(Debug)]
pub struct RecordingFile {
    recording: Recording,
    path: PathBuf,
    started: Instant,
}

impl RecordingFile {
    /// Makes a recording in `folder`, if anything is recorded in this world.
    pub fn new(world: World, folder: &Path) -> Result<Option<RecordingFile>, String> {
        let Some(level) = world.level() else { return Ok(None) };
        let path = folder.join("recording");
        let config = Config { level, ..Config::default() };
        let recording = Recording::create(&path, config).map_err(|e| e.to_string())?;
        Ok(Some(RecordingFile { recording, path, started: Instant::now() }))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The contents.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Starts the clocks: the recording's, and our own.
    pub fn start(&mut self) {
        self.started = Instant::now();
        self.recording.start();
    }

    /// Stops them. What our own says, in seconds; the recording is not asked.
    pub fn finish(&self, cpu_s: f64) -> f64 {
        self.recording.finish(Some(Duration::from_secs_f64(cpu_s)));
        self.started.elapsed().as_secs_f64()
    }
}

impl Drop for RecordingFile {
    fn drop(&mut self) {
        // If this fails, the file is removed with the scratch folder at the end. If the next recording needs the same
        // name before that, creating it fails and reports the error.
        let _ = std::fs::remove_file(&self.path);
    }
}
