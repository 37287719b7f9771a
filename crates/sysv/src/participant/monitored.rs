//! The list of processes that a waiter monitors for exit.

use unspin_sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The processes whose exit a waiter monitors, because the exit may let this waiter or one behind it proceed. Written
/// under the lock of the set that the waiter waits for; the waiter reads it without the lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MonitoredProcesses<'a> {
    pub(super) count: &'a AtomicU32,
    /// How many wait before this waiter, counted only as far as needed: see [`MonitoredProcesses::is_among_first_two`].
    pub(super) position: &'a AtomicU32,
    pub(super) processes: &'a [AtomicU64; MAX_MONITORED],
}

/// A thread can sleep on this many words in addition to its own status.
#[cfg(not(loom))]
pub(crate) const MAX_MONITORED: usize = unspin_sys::futex::any::MOST - 1;
/// The models need no more.
#[cfg(loom)]
pub(crate) const MAX_MONITORED: usize = 2;

impl<'a> MonitoredProcesses<'a> {
    /// Removes all processes.
    pub(crate) fn clear(self) {
        // SeqCst: as in `add`.
        self.count.store(0, Ordering::SeqCst);
    }

    /// Adds a process, unless it is in the list already. `false` if there is no room.
    pub(crate) fn add(self, process: u64) -> bool {
        if self.iter().any(|it| it == process) {
            return true;
        }
        // Relaxed: written under the lock only.
        let count = self.count.load(Ordering::Relaxed);
        let Some(position) = self.processes.get(count as usize) else { return false };
        // Relaxed: published by the count.
        position.store(process, Ordering::Relaxed);
        // SeqCst: ordered before the read of the status in `Waiter::notify`. Release: partner of the Acquire in `iter`.
        self.count.store(count + 1, Ordering::SeqCst);
        true
    }

    /// Stores how many wait before this waiter, of its nearest predecessors.
    pub(crate) fn set_position(self, others: usize) {
        // Relaxed: only the waiter reads it; any recent value will do.
        self.position.store(others as u32, Ordering::Relaxed);
    }

    /// Whether it is the first waiter, or the second, which acts if the first is stopped or dead.
    pub(crate) fn is_among_first_two(self) -> bool {
        // Relaxed: as above.
        self.position.load(Ordering::Relaxed) < 2
    }

    /// The processes, as [`crate::recovery::process`] encodes them.
    pub(crate) fn iter(self) -> impl Iterator<Item = u64> + 'a {
        // SeqCst: ordered after `Waiter::mark_sleeping`. Acquire: partner of the Release in `add`.
        let count = self.count.load(Ordering::SeqCst) as usize;
        // Relaxed: as above. If the list changes meanwhile, the thread that changes it wakes the waiter, which reads it
        // again.
        self.processes[..count.min(MAX_MONITORED)].iter().map(|process| process.load(Ordering::Relaxed))
    }

    /// Whether there is no more room, so that processes may have been left out.
    pub(crate) fn is_full(self) -> bool {
        // SeqCst: as in `iter`.
        self.count.load(Ordering::SeqCst) as usize >= MAX_MONITORED
    }

    /// Whether there is no process in the list.
    pub(crate) fn is_empty(self) -> bool {
        // SeqCst: as in `iter`.
        self.count.load(Ordering::SeqCst) == 0
    }
}
