//! A scheduler that the kernel has enabled.

use serde::Serialize;
use std::fmt;

/// Which tasks the scheduler schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// All tasks of the machine.
    Machine,
    /// The program and what it starts, which have the policy SCHED_EXT.
    Program,
}

impl Reach {
    /// "machine" or "program".
    pub fn name(self) -> &'static str {
        match self {
            Reach::Machine => "machine",
            Reach::Program => "program",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Reach> {
        [Reach::Machine, Reach::Program].into_iter().find(|reach| reach.name() == name)
    }
}

/// A scheduler that the kernel has enabled.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Enabled {
    /// The name that the BPF program gives itself: `root/ops`.
    pub ops: String,
    /// Which tasks it schedules.
    pub reach: Reach,
    /// The kernel's number of the scheduler, counted from boot: `enable_seq`. None if the kernel does not tell it.
    #[serde(skip)]
    pub sequence: Option<u64>,
}

impl fmt::Display for Enabled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reach = match self.reach {
            Reach::Machine => "all tasks of the machine",
            Reach::Program => "the program only",
        };
        write!(f, "sched_ext {}, {reach}", self.ops)
    }
}
