//! Locks and call sites of a recording, with the places that identify them in another run.

use super::place::Place;
use unspin_report::{Lock, Waiter};

/// A lock, or the call site of waits, with its name and the places that identify it: a row of a report or of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located {
    /// The name in the report.
    pub name: String,
    /// What the report prints after the name.
    pub origin: Option<String>,
    /// Each of these places identifies it. Never empty.
    pub places: Vec<Place>,
    /// Number of mutexes of the recording that these places do not tell apart; 0 if unknown.
    pub mutexes: usize,
}

impl Located {
    /// Whether it is this caller of a wait in the report.
    pub fn is_site(&self, waiter: &Waiter) -> bool {
        self.name == waiter.row.name && self.origin == waiter.place
    }

    /// Whether it is this row of the report.
    pub fn is(&self, lock: &Lock) -> bool {
        self.name == lock.row.name && self.origin == lock.origin
    }

    /// `cache_lock, static, cache.c:31`: valid after the @ of `--mutex`.
    pub fn label(&self) -> String {
        match &self.origin {
            Some(origin) => format!("{}, {origin}", self.name),
            None => self.name.clone(),
        }
    }
}
