//! The sums of a recording at one time.

use crate::counts::Counts;
use crate::event::{Event, Key};
use crate::window::Window;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that a recording holds, summed over its threads.
#[derive(Clone, PartialEq, Debug)]
pub struct Snapshot {
    /// The time metered.
    pub window: Window,
    /// The samples' sums.
    pub rows: BTreeMap<Key, Counts>,
    /// The event counts, indexed by [`Event`].
    pub events: [u64; Event::ALL.len()],
    /// What the tables do not hold.
    pub unrecorded: Unrecorded,
    /// Tables in use.
    pub tables: u32,
}

/// How much was not recorded, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Unrecorded {
    /// Samples whose key found no room in their thread's table.
    pub overflowed: u64,
    /// Samples of signal handlers that had interrupted the recording of another.
    pub reentered: u64,
    /// Threads that got no table; how many samples they had is unknown.
    pub threads: u64,
}

impl Unrecorded {
    /// Whether the tables hold everything.
    pub fn is_nothing(&self) -> bool {
        *self == Unrecorded::default()
    }
}
