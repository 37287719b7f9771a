//! The waits of a row that go on when a snapshot is taken.

use crate::counts::Counts;
use crate::event::Key;
use crate::kind::{Class, RecordKind};

/// What a row's counts have of waits in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WaitsInProgress {
    /// Those that are among [`Counts::waiters`].
    pub counted: u64,
    /// Ticks that they have lasted so far, which are in [`Counts::wait`].
    pub ticks: u64,
}

impl WaitsInProgress {
    /// A wait for the object of a key, which has lasted so long.
    pub(crate) fn one(key: Key, ticks: u64) -> WaitsInProgress {
        WaitsInProgress { counted: u64::from(key.kind().is_some_and(is_counted_when_it_begins)), ticks }
    }

    /// The counts of such a wait, except its number, which is counted already or will be.
    pub(crate) fn counts(&self, key: Key) -> Counts {
        let ticks = self.ticks;
        let none = Counts { wait_max: ticks, ..Counts::default() };
        match key.kind() {
            Some(RecordKind::Spin) => Counts { spin: ticks, spin_max: ticks, ..none },
            _ => Counts { sleep: ticks, sleep_max: ticks, ..none },
        }
    }

    /// Adds the waits of other threads.
    pub(crate) fn merge(&mut self, other: WaitsInProgress) {
        self.counted = self.counted.saturating_add(other.counted);
        self.ticks = self.ticks.saturating_add(other.ticks);
    }
}

/// Whether an attempt counts as one that waits from the beginning of the wait on. Otherwise the return of the call decides
/// whether it has waited.
fn is_counted_when_it_begins(kind: RecordKind) -> bool {
    kind.class() == Class::Lock || matches!(kind, RecordKind::Condition | RecordKind::Semaphore)
}
