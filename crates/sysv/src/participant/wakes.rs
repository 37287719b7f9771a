//! Ending the waits of other threads, and the list of threads to wake once the lock is released.

use crate::participant::{Waiter, status};
use crate::time;
use unspin_sync::atomic::Ordering::{AcqRel, Relaxed};

/// A wake-up that is due once the lock is released. If the futex wake finds no sleeper, the waiter is at least checked
/// whether it is alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingWake {
    /// Index of the participant.
    pub index: u32,
    /// The status with which its wait ended. It tells this grant from later grants to the same participant.
    pub end: u32,
}

/// Wake-ups that are made after the lock is released, so that a woken process that preempts its waker does not find the
/// lock taken at once. The list is small because every section creates one.
#[derive(Default)]
pub struct WakeList {
    list: [u64; 8],
    count: usize,
    overflowed: bool,
}

impl WakeList {
    /// Ends the wait of participant `index` with the status `end`. The caller holds the lock of the object that it
    /// waits for. From this store on the waiter may return and reuse its record.
    pub(crate) fn finish(&mut self, waiter: &Waiter, index: u32, end: u32) {
        let last_seen = waiter.last_seen.load(Relaxed);
        // AcqRel. Release: partner of the waiter's Acquire load of its end status; the store decides the redo record.
        // Acquire: partner of the waiter's exchange to SLEEPING.
        let before = waiter.status.swap(end, AcqRel);
        let seen_running = time::ticks().wrapping_sub(last_seen) < FRESH_TICKS;
        // Other waiters depend on these two: the waiter has to take what it was granted, or use the room that was made.
        let matters = status::is_granted(end) || end == status::RETRY;
        if before == status::QUEUED && (seen_running || !matters) {
            waiter.confirm(end);
            return;
        }
        if !self.push(PendingWake { index, end }) {
            // The list is full, so wake now, under the lock. `wake::wake_all` checks afterwards whether the waiter was
            // alive.
            waiter.wake();
        }
    }

    /// Adds a wake-up; `false` if the list is full.
    fn push(&mut self, wake: PendingWake) -> bool {
        match self.list.get_mut(self.count) {
            Some(slot) => {
                *slot = (wake.end as u64) << 32 | wake.index as u64;
                self.count += 1;
                true
            }
            None => {
                self.overflowed = true;
                false
            }
        }
    }

    /// Number of wake-ups in the list.
    pub fn len(&self) -> u64 {
        self.count as u64
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether more wake-ups were due than the list holds. The rest were made under the lock.
    pub fn has_overflowed(&self) -> bool {
        self.overflowed
    }

    /// The wake-ups, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = PendingWake> + '_ {
        self.list[..self.count].iter().map(|&w| PendingWake { index: w as u32, end: (w >> 32) as u32 })
    }
}

/// Age in ticks (under 1 us) up to which a spinning waiter's time stamp proves that it was alive at the grant: no
/// process dies and is reaped in less.
const FRESH_TICKS: u64 = 2_000;
