//! Ending the waits of others, and remembering whom to wake once the lock is released.

use crate::participant::{Waiter, status};
use crate::time;
use unspin_sync::atomic::Ordering::{AcqRel, Relaxed};

/// Somebody to be woken, or at least looked at, once the lock is released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wake {
    /// Participant.
    pub index: u32,
    /// The status with which his wait ended: tells a grant from his next ones.
    pub end: u32,
}

/// Wake-ups that are made after the lock is released, so that a woken process that preempts its waker does
/// not run into the lock at once. Small: every section makes one.
#[derive(Default)]
pub struct Wakes {
    list: [u64; 8],
    count: usize,
    overflowed: bool,
}

impl Wakes {
    /// Ends the wait of participant `index`, under the lock of the object that he waits for. From this store on he may return
    /// and use his record anew.
    pub(crate) fn finish(&mut self, waiter: &Waiter, index: u32, end: u32) {
        let beat = waiter.beat.load(Relaxed);
        // AcqRel. Release: partner of the waiter's Acquire load of its end; decides the redo record. Acquire:
        // partner of the waiter's exchange to SLEEPING.
        let before = waiter.status.swap(end, AcqRel);
        let seen_running = time::ticks().wrapping_sub(beat) < FRESH_TICKS;
        // What others rely on: that it takes what it was granted, or the room that was made for it.
        let matters = status::is_granted(end) || end == status::RETRY;
        if before == status::QUEUED && (seen_running || !matters) {
            waiter.confirm(end);
            return;
        }
        if !self.push(Wake { index, end }) {
            // The list is full: wake now, under the lock. Whether the waiter was alive is looked for afterwards.
            waiter.wake();
        }
    }

    /// `false` if the list is full.
    fn push(&mut self, wake: Wake) -> bool {
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

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.count as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether more were due than the list holds. Those were made under the lock.
    pub fn have_overflowed(&self) -> bool {
        self.overflowed
    }

    /// The wake-ups, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Wake> + '_ {
        self.list[..self.count].iter().map(|&w| Wake { index: w as u32, end: (w >> 32) as u32 })
    }
}

/// A spinning waiter that was seen running within this many ticks (under 1 us) was alive when it was granted
/// its operation: no process dies and is reaped in less.
const FRESH_TICKS: u64 = 2_000;
