//! The participants of an experiment.

use serde::{Deserialize, Serialize};

/// The role of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The reference of all comparisons. There is exactly one, and it comes first.
    Control,
    /// A second set of runs of the control under another name: the A/A pair, which shows the noise floor.
    #[serde(rename = "control_again")]
    AaControl,
    /// A configuration that may be better or worse than the control.
    Candidate,
}

/// One participant: the name to print and the role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The name in tables and sentences.
    pub name: String,
    /// The role.
    pub role: Role,
}

impl Candidate {
    /// The control.
    pub fn control(name: impl Into<String>) -> Candidate {
        Candidate { name: name.into(), role: Role::Control }
    }

    /// The second half of the A/A pair.
    pub fn aa_control(name: impl Into<String>) -> Candidate {
        Candidate { name: name.into(), role: Role::AaControl }
    }

    /// A candidate to be judged.
    pub fn new(name: impl Into<String>) -> Candidate {
        Candidate { name: name.into(), role: Role::Candidate }
    }
}
