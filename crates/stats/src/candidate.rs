//! Who takes part in an experiment.

use serde::{Deserialize, Serialize};

/// What a candidate is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What everything is compared with. There is exactly one, and it comes first.
    Control,
    /// The control once more, under another name: the A/A pair that shows the noise floor.
    ControlAgain,
    /// Something that may be better or worse than the control.
    Candidate,
}

/// One participant: a name to print and its role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// As it appears in tables and sentences.
    pub name: String,
    /// What it is there for.
    pub role: Role,
}

impl Candidate {
    /// The control.
    pub fn control(name: impl Into<String>) -> Candidate {
        Candidate { name: name.into(), role: Role::Control }
    }

    /// The second half of the A/A pair.
    pub fn control_again(name: impl Into<String>) -> Candidate {
        Candidate { name: name.into(), role: Role::ControlAgain }
    }

    /// Something to be judged.
    pub fn new(name: impl Into<String>) -> Candidate {
        Candidate { name: name.into(), role: Role::Candidate }
    }
}
