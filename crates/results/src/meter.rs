//! A result of `unspin meter --json` or `unspin report --json`: `docs/locks-json.md`.

use crate::lenses::StoredLenses;
use crate::machine::{StoredBuild, StoredMachine};
use serde::Deserialize;
use unspin_report::MeterReport;

/// A result of `unspin meter` or `unspin report`.
#[derive(Clone, Debug, Deserialize)]
pub struct StoredMeter {
    /// Start of the observation, in nanoseconds since the epoch; 0 if unknown.
    pub started: u64,
    /// Seconds observed.
    pub seconds: f64,
    /// CPUs that the program could use; without the pthread lens, those of the machine.
    pub cpus: u32,
    /// The words of the program's command line, if lenses alone observed it; else the report has them. Empty without a program, and
    /// in documents of older versions.
    #[serde(default)]
    pub command: Vec<String>,
    /// The build that wrote the document; none in documents of older versions.
    #[serde(default)]
    pub unspin: Option<StoredBuild>,
    /// The machine on which the program ran; none in a report on a recording, which may come from another machine.
    #[serde(default)]
    pub machine: Option<StoredMachine>,
    /// The command that repeats the observation; none for a recording.
    #[serde(default)]
    pub repeat: Option<String>,
    /// What the printed report says beside its tables: how the program ended, why nothing was recorded, what is missing.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What the lenses of the kernel's events saw.
    #[serde(flatten)]
    pub lenses: StoredLenses,
    /// Locks and waits; none without the pthread lens. [`StoredResult::parse`](crate::StoredResult::parse) reads them.
    #[serde(skip)]
    pub report: Option<MeterReport>,
}
