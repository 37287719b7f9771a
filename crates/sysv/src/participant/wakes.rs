//! Ending the waits of other threads, and the list of threads to wake once the lock is released.

use crate::participant::{Waiter, status};
use unspin_sync::atomic::Ordering::AcqRel;

/// What is due to a waiter once the lock is released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingWake {
    /// Index of the participant.
    pub index: u32,
    /// The status with which its wait ended. It tells this grant from later grants to the same participant.
    pub end: u32,
    /// Whether the waiter sleeps. One that spins need not be woken: only its grant is to be settled.
    pub asleep: bool,
}

impl PendingWake {
    const ASLEEP: u32 = 1 << 31;

    fn pack(self) -> u64 {
        let asleep = if self.asleep { PendingWake::ASLEEP } else { 0 };
        (self.end as u64) << 32 | (self.index | asleep) as u64
    }

    fn unpack(packed: u64) -> PendingWake {
        let low = packed as u32;
        PendingWake {
            index: low & !PendingWake::ASLEEP,
            end: (packed >> 32) as u32,
            asleep: low & PendingWake::ASLEEP != 0,
        }
    }
}

/// Wake-ups that are made after the lock is released, so that a woken process that preempts its waker does not find the
/// lock taken at once, and no system call is made under the lock. The list is small because every section creates one.
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
        // AcqRel. Release: partner of the waiter's Acquire load of its end status; the store decides the redo record.
        // Acquire: partner of the waiter's exchange to SLEEPING.
        let asleep = waiter.status.swap(end, AcqRel) != status::QUEUED;
        // A spinning waiter sees any end by itself. Other waiters depend on these two: the waiter has to take what it
        // was granted, or use the room that was made.
        if asleep || status::is_granted(end) || end == status::RETRY {
            self.push(PendingWake { index, end, asleep });
        }
    }

    /// Makes participant `index`, which waits, read its list of monitored processes again. The caller has changed that
    /// list, and holds the set's lock.
    pub(crate) fn notify(&mut self, waiter: &Waiter, index: u32) {
        if waiter.rouse() {
            self.push(PendingWake { index, end: status::QUEUED, asleep: true });
        }
    }

    fn push(&mut self, wake: PendingWake) {
        match self.list.get_mut(self.count) {
            Some(slot) => {
                *slot = wake.pack();
                self.count += 1;
            }
            None => self.overflowed = true,
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

    /// Whether more wake-ups are due than the list holds. The rest are found by their status: see `wake::wake_all`.
    pub fn has_overflowed(&self) -> bool {
        self.overflowed
    }

    /// The wake-ups, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = PendingWake> + '_ {
        self.list[..self.count].iter().map(|&packed| PendingWake::unpack(packed))
    }
}
