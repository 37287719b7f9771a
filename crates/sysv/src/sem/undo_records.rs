//! The adjustments of `SEM_UNDO` that one process has on one set (`struct sem_undo` of ipc/sem.c).
//!
//! A record belongs to a process until the process ends; `exec` does not change that. It stays in the set's list until
//! the set is removed. When its process is dead and its adjustments have been applied, the next process that needs a
//! record reuses it. So the list only grows, by one store, and needs no repair.
//!
//! Records with an adjustment that is not zero are *active*. The list of active records and the counts of adjustments
//! are derived from the adjustments. A thread that takes over the set's lock from a dead holder builds them anew.

use super::space::Space;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use unspin_sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

// Relaxed, unless stated otherwise: everything here is read and written under the set's lock, whose acquisition and
// release order it.

/// Header of a record; it is followed in memory by one adjustment for each semaphore of the set.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct UndoHeader {
    /// The process, as the table of processes encodes it; 0: none.
    owner: AtomicU64,
    /// Pid of that process, for `sempid`.
    pid: AtomicU32,
    /// Number of adjustments that are not zero. Derived.
    nonzero: AtomicU32,
    /// Offset of the set's next record. Immutable once the record is in the list.
    next: AtomicU64,
    /// Neighbours in the list of active records, as offsets. Derived.
    active_prev: AtomicU64,
    active_next: AtomicU64,
}

/// Size in bytes of a record for a set of `nsems` semaphores.
pub fn bytes(nsems: usize) -> u64 {
    (size_of::<UndoHeader>() + nsems * size_of::<AtomicU16>()) as u64
}

/// A record and its offset.
#[derive(Clone, Copy, Debug)]
pub struct UndoRecord<'a> {
    /// Offset in the arena.
    pub at: u64,
    undo: &'a UndoHeader,
    adjustments: &'a [AtomicU16],
}

impl<'a> UndoRecord<'a> {
    /// The process that owns the record, as the table of processes encodes it.
    #[inline]
    pub fn owner(&self) -> u64 {
        self.undo.owner.load(Relaxed)
    }

    /// The pid of that process.
    pub fn pid(&self) -> u32 {
        self.undo.pid.load(Relaxed)
    }

    /// Assigns the record to a process.
    pub fn assign(&self, owner: u64, pid: u32) {
        // The record has no owner until both fields are written.
        self.undo.owner.store(0, Release);
        self.undo.pid.store(pid, Release);
        self.undo.owner.store(owner, Release);
    }

    /// The adjustment for a semaphore.
    #[inline]
    pub fn get(&self, sem: usize) -> i32 {
        self.adjustments.get(sem).map_or(0, |it| it.load(Relaxed) as i16 as i32)
    }

    /// Whether it is the only record in the list of active records that begins with `first`.
    #[inline(always)]
    pub fn is_only_active(&self, first: u64) -> bool {
        first == self.at && self.undo.active_next.load(Relaxed) == 0
    }

    /// Whether any adjustment is not zero.
    pub fn is_active(&self) -> bool {
        self.undo.nonzero.load(Relaxed) != 0
    }

    /// The semaphores whose adjustment is not zero, with the adjustment.
    pub fn nonzero_adjustments(&self) -> impl Iterator<Item = (usize, i32)> + use<'a> {
        let adjustments = self.adjustments.iter().map(|it| it.load(Relaxed) as i16 as i32);
        adjustments.enumerate().filter(|&(_, adjustment)| adjustment != 0)
    }
}

impl<'a> Space<'a> {
    /// The record at an offset.
    #[inline(always)]
    pub fn record(&self, at: u64) -> Option<UndoRecord<'a>> {
        let arena = self.arena.filter(|_| at != 0)?;
        // Checked first, because the arena may have been overwritten. Then the offset is known to lie inside, and the
        // addition below cannot overflow.
        let undo = arena.get::<UndoHeader>(at)?;
        let adjustments = arena.slice::<AtomicU16>(at + size_of::<UndoHeader>() as u64, self.sems.len())?;
        Some(UndoRecord { at, undo, adjustments })
    }

    /// All records of the set.
    pub fn records(&self) -> impl Iterator<Item = UndoRecord<'a>> + use<'a> {
        // Acquire: partner of the Release in `add_record`.
        let first = self.set.contended.records.load(Acquire);
        self.follow(first, |record| record.undo.next.load(Relaxed))
    }

    /// Records with an adjustment that is not zero. Each one's successor is read before it is returned, so that it may
    /// leave the list.
    #[inline]
    pub fn active(&self) -> impl Iterator<Item = UndoRecord<'a>> + use<'a> {
        let first = self.set.contended.active.load(Relaxed);
        self.follow(first, |record| record.undo.active_next.load(Relaxed))
    }

    fn follow(
        &self,
        first: u64,
        next: fn(&UndoRecord<'a>) -> u64,
    ) -> impl Iterator<Item = UndoRecord<'a>> + use<'a> {
        let (space, mut at) = (*self, first);
        // There are no more records than entries for processes: that bounds the walk whatever memory contains.
        (0..MOST).map_while(move |_| {
            let record = space.record(at)?;
            at = next(&record);
            Some(record)
        })
    }

    /// Puts a new, zeroed record into the set's list.
    pub fn add_record(&self, record: &UndoRecord<'_>) {
        let first = &self.set.contended.records;
        record.undo.next.store(first.load(Relaxed), Relaxed);
        // Release: partner of the Acquire in `records`. From this store on the record belongs to the set, whichever
        // thread dies.
        first.store(record.at, Release);
    }

    /// Takes the first record, `record`, out of the list of a removed set.
    pub fn shift_record(&self, record: &UndoRecord<'_>) {
        // Release: as above.
        self.set.contended.records.store(record.undo.next.load(Relaxed), Release);
    }

    /// Changes an adjustment, and the state that is derived from it.
    #[inline(always)]
    pub fn adjust(&self, record: &UndoRecord<'_>, sem: usize, adjustment: i32) {
        let Some(word) = record.adjustments.get(sem) else { return };
        let before = word.load(Relaxed);
        // Release: keeps the redo record's stores before this one.
        word.store(adjustment as u16, Release);
        match (before == 0, adjustment == 0) {
            (true, false) => self.count(record, sem, 1),
            (false, true) => self.count(record, sem, u32::MAX),
            _ => {}
        }
    }

    /// Counts one more adjustment that is not zero (`more` is 1), or one less (`u32::MAX`).
    #[inline(always)]
    fn count(&self, record: &UndoRecord<'_>, sem: usize, more: u32) {
        let add = |count: &AtomicU32| {
            let sum = count.load(Relaxed).wrapping_add(more);
            count.store(sum, Relaxed);
            sum
        };
        add(&self.sem(sem).adjusted);
        let nonzero = add(&record.undo.nonzero);
        match (nonzero, more) {
            (1, 1) => self.activate(record),
            (0, _) => self.deactivate(record),
            _ => {}
        }
    }

    #[inline(always)]
    fn activate(&self, record: &UndoRecord<'_>) {
        let first = self.set.contended.active.load(Relaxed);
        record.undo.active_prev.store(0, Relaxed);
        record.undo.active_next.store(first, Relaxed);
        if let Some(second) = self.record(first) {
            second.undo.active_prev.store(record.at, Relaxed);
        }
        self.set.contended.active.store(record.at, Relaxed);
    }

    #[inline(always)]
    fn deactivate(&self, record: &UndoRecord<'_>) {
        let (prev, next) = (record.undo.active_prev.load(Relaxed), record.undo.active_next.load(Relaxed));
        match self.record(prev) {
            Some(before) => before.undo.active_next.store(next, Relaxed),
            None => self.set.contended.active.store(next, Relaxed),
        }
        if let Some(after) = self.record(next) {
            after.undo.active_prev.store(prev, Relaxed);
        }
    }

    /// Builds the state that is derived from the adjustments anew.
    pub(super) fn recount(&self) {
        self.set.contended.active.store(0, Relaxed);
        self.sems.iter().for_each(|sem| sem.adjusted.store(0, Relaxed));
        for record in self.records() {
            record.undo.nonzero.store(0, Relaxed);
            record.nonzero_adjustments().for_each(|(sem, _)| self.count(&record, sem, 1));
        }
    }
}

/// Most records of a set: the number of entries in the table of processes.
const MOST: usize = crate::participant::MAX_PROCESSES as usize;
