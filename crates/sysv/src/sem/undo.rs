//! What one process is owed by one set: the adjustments of `SEM_UNDO` (`struct sem_undo` of ipc/sem.c).
//!
//! A record belongs to a process for as long as that lives, whatever program it executes. It stays in the set's list until
//! the set is removed; when its process is dead and its adjustments have been applied, the next process that needs a
//! record takes it over. So the list only grows, by one store, and needs no repair.
//!
//! Records with an adjustment that is not zero are *active*. Their list, and the counts of adjustments, follow from the
//! adjustments themselves, and are made anew from them by whoever inherits the set's lock.

use super::space::Space;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use unspin_sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

// Relaxed, where nothing else is said: everything here is read and written under the set's lock, whose acquisition and
// release order it.

/// Header of a record; an adjustment for each semaphore of the set follows it in memory.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Undo {
    /// The process, as the table of processes names it.
    owner: AtomicU64,
    /// Its id, for `sempid`.
    pid: AtomicU32,
    /// Adjustments that are not zero. Derived.
    nonzero: AtomicU32,
    /// Offset of the set's next record. Immutable once the record is in the list.
    next: AtomicU64,
    /// Neighbours among the active records, as offsets. Derived.
    active_prev: AtomicU64,
    active_next: AtomicU64,
}

/// Bytes of a record for a set of `nsems` semaphores.
pub fn bytes(nsems: usize) -> u64 {
    (size_of::<Undo>() + nsems * size_of::<AtomicU16>()) as u64
}

/// A record and where it lies.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Offset in the arena.
    pub at: u64,
    undo: &'a Undo,
    adjustments: &'a [AtomicU16],
}

impl<'a> Record<'a> {
    /// The process that it belongs to.
    #[inline]
    pub fn owner(&self) -> u64 {
        self.undo.owner.load(Relaxed)
    }

    /// The id of that process.
    pub fn pid(&self) -> u32 {
        self.undo.pid.load(Relaxed)
    }

    /// Gives the record to a process.
    pub fn assign(&self, owner: u64, pid: u32) {
        // Nobody's, until both are written.
        self.undo.owner.store(0, Release);
        self.undo.pid.store(pid, Release);
        self.undo.owner.store(owner, Release);
    }

    /// The adjustment for a semaphore.
    #[inline]
    pub fn get(&self, sem: usize) -> i32 {
        self.adjustments.get(sem).map_or(0, |it| it.load(Relaxed) as i16 as i32)
    }

    /// Whether the process is owed anything.
    pub fn is_active(&self) -> bool {
        self.undo.nonzero.load(Relaxed) != 0
    }

    /// Semaphores with an adjustment.
    pub fn adjusted(&self) -> impl Iterator<Item = (usize, i32)> + use<'a> {
        let adjustments = self.adjustments.iter().map(|it| it.load(Relaxed) as i16 as i32);
        adjustments.enumerate().filter(|&(_, adjustment)| adjustment != 0)
    }
}

impl<'a> Space<'a> {
    /// The record at an offset.
    #[inline]
    pub fn record(&self, at: u64) -> Option<Record<'a>> {
        let arena = self.arena.filter(|_| at != 0)?;
        // First, as what lies in the arena may have been overwritten: what can be added to is known to be inside.
        let undo = arena.get::<Undo>(at)?;
        let adjustments = arena.slice::<AtomicU16>(at + size_of::<Undo>() as u64, self.sems.len())?;
        Some(Record { at, undo, adjustments })
    }

    /// All records of the set.
    pub fn records(&self) -> impl Iterator<Item = Record<'a>> + use<'a> {
        // Acquire: partner of the Release in `add_record`.
        let first = self.set.contended.records.load(Acquire);
        self.follow(first, |record| record.undo.next.load(Relaxed))
    }

    /// Records with an adjustment. Each one's successor is read before it is handed out, so that it may leave the list.
    #[inline]
    pub fn active(&self) -> impl Iterator<Item = Record<'a>> + use<'a> {
        let first = self.set.contended.active.load(Relaxed);
        self.follow(first, |record| record.undo.active_next.load(Relaxed))
    }

    fn follow(&self, first: u64, next: fn(&Record<'a>) -> u64) -> impl Iterator<Item = Record<'a>> + use<'a> {
        let (space, mut at) = (*self, first);
        // No more than there can be processes: bounds the walk whatever memory holds.
        (0..MOST).map_while(move |_| {
            let record = space.record(at)?;
            at = next(&record);
            Some(record)
        })
    }

    /// Puts a new, zeroed record into the set's list.
    pub fn add_record(&self, record: &Record<'_>) {
        let first = &self.set.contended.records;
        record.undo.next.store(first.load(Relaxed), Relaxed);
        // Release: partner of the Acquire in `records`. From this store on the record is the set's, whoever dies.
        first.store(record.at, Release);
    }

    /// Takes the first record out of the list of a removed set.
    pub fn shift_record(&self, record: &Record<'_>) {
        // Release: as above.
        self.set.contended.records.store(record.undo.next.load(Relaxed), Release);
    }

    /// Changes an adjustment, and what follows from it.
    #[inline]
    pub fn adjust(&self, record: &Record<'_>, sem: usize, adjustment: i32) {
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

    /// One adjustment more, or one less (`u32::MAX`), is not zero.
    #[inline]
    fn count(&self, record: &Record<'_>, sem: usize, more: u32) {
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

    #[inline]
    fn activate(&self, record: &Record<'_>) {
        let first = self.set.contended.active.load(Relaxed);
        record.undo.active_prev.store(0, Relaxed);
        record.undo.active_next.store(first, Relaxed);
        if let Some(second) = self.record(first) {
            second.undo.active_prev.store(record.at, Relaxed);
        }
        self.set.contended.active.store(record.at, Relaxed);
    }

    #[inline]
    fn deactivate(&self, record: &Record<'_>) {
        let (prev, next) = (record.undo.active_prev.load(Relaxed), record.undo.active_next.load(Relaxed));
        match self.record(prev) {
            Some(before) => before.undo.active_next.store(next, Relaxed),
            None => self.set.contended.active.store(next, Relaxed),
        }
        if let Some(after) = self.record(next) {
            after.undo.active_prev.store(prev, Relaxed);
        }
    }

    /// Makes anew what follows from the adjustments.
    pub(super) fn recount(&self) {
        self.set.contended.active.store(0, Relaxed);
        self.sems.iter().for_each(|sem| sem.adjusted.store(0, Relaxed));
        for record in self.records() {
            record.undo.nonzero.store(0, Relaxed);
            record.adjusted().for_each(|(sem, _)| self.count(&record, sem, 1));
        }
    }
}

/// Records of a set at most: as many as there are places for processes.
const MOST: usize = crate::participant::MAX_PROCESSES as usize;
