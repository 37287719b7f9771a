//! The counts that a program keeps of its own use of locks, independently of the meter.

use serde::{Deserialize, Serialize};
use unspin_wire::{Key, RecordKind};

/// One lock, or one way to take it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownCounts {
    /// [`Key::lock`]: kind and address.
    pub lock: u64,
    /// Attempts that got it.
    pub acquired: u64,
    /// Attempts that did not.
    pub rejected: u64,
    /// Attempts made while another thread held it.
    pub contended: u64,
    /// Seconds for which it was held.
    pub held_s: f64,
    /// CPU seconds that threads spent in the call that takes it while another held it.
    pub spun_s: f64,
}

impl KnownCounts {
    /// Nothing has been done to the object at this address yet.
    pub fn new<T>(kind: RecordKind, object: *const T) -> KnownCounts {
        KnownCounts { lock: Key::new(kind, object as usize, 0).lock, ..KnownCounts::default() }
    }
}
