//! Where a result comes from: fields of the JSON document beside the report.

use serde::Serialize;
use std::ffi::OsString;
use unspin_launch::machine::{Build, Machine};
use unspin_report::shell_line;

/// Where a result comes from, and what is to be known of it.
#[derive(Clone, Debug, Serialize)]
pub struct Provenance {
    /// The build that wrote the document.
    unspin: Build,
    /// The machine on which the program ran; none for a recording, which may come from another machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<Machine>,
    /// The command that repeats the observation.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<String>,
    /// What the printed report says beside its tables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Provenance {
    /// Of an observation that this command line has made here.
    pub fn of_observation(words: Option<&[OsString]>) -> Provenance {
        let repeat = words.map(shell_line);
        Provenance { unspin: Build::THIS, machine: Some(Machine::this()), repeat, notes: Vec::new() }
    }

    /// Of a recording.
    pub fn of_recording() -> Provenance {
        Provenance { unspin: Build::THIS, machine: None, repeat: None, notes: Vec::new() }
    }
}
