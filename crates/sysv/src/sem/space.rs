//! A set with its semaphores and the records of all participants that may wait for them. The protocols work on it,
//! wherever it lies (in the arena, or on the heap of a loom model).

use super::set::{Sem, Set};
use super::word::{SLOW, Word};
use crate::participant::ParticipantRecord;
use crate::store::Arena;
use std::sync::OnceLock;
use unspin_sync::atomic::Ordering;

/// References to a set's parts: see the module's text.
#[derive(Clone, Copy)]
pub struct Space<'a> {
    /// Header of the set.
    pub set: &'a Set,
    /// The semaphores of the set.
    pub sems: &'a [Sem],
    /// The records of all participants of the arena, up to the highest index ever used.
    pub participants: &'a [ParticipantRecord],
    /// Offset of the set in the arena, by which a waiter's record refers to it.
    pub offset: u64,
    /// The arena with the records of adjustments; `None` in tests that need no such records.
    pub(crate) arena: Option<&'a Arena>,
}

impl<'a> Space<'a> {
    /// The word of a semaphore. `sem` is below `nsems`: checked when the operation was read.
    pub fn word(&self, sem: usize) -> Word {
        // Acquire: partner of the Release stores of `put` and of the fast path's exchange. A thread that acts on the
        // value sees what the last operation's process wrote before it.
        Word(self.sem(sem).word.load(Ordering::Acquire))
    }

    /// Writes value and pid, and keeps the semaphore slow. Only for the lock's holder, on a slow word.
    #[inline(always)]
    pub(super) fn put(&self, sem: usize, value: i32, pid: u32) {
        // Release: partner of the Acquire in `word`; also keeps the redo record's stores before this one.
        self.sem(sem).word.store(Word::new(value, pid).0 | SLOW, Ordering::Release);
    }

    /// Whether the set is being removed or has been removed.
    pub fn is_deleted(&self) -> bool {
        self.set.perm.is_deleted()
    }

    /// Makes all words of a new set slow for good: its engine has no fast path.
    pub(super) fn mark_slow_for_good(&self) {
        // Relaxed: published by the Release store of the set's offset in the table.
        self.set.contended.always_slow.store(1, Ordering::Relaxed);
        self.sems.iter().for_each(|sem| sem.word.store(SLOW, Ordering::Relaxed));
    }

    /// A semaphore; a dummy if the set has none with this index. In a damaged arena the check that was made when the
    /// operation was read may no longer hold.
    #[inline]
    pub(super) fn sem(&self, sem: usize) -> &'a Sem {
        static DUMMY: OnceLock<Sem> = OnceLock::new();
        self.sems.get(sem).unwrap_or_else(|| DUMMY.get_or_init(Sem::default))
    }

    /// The record of a participant that was in use a moment ago; a dummy if there is none, as in [`Space::sem`].
    #[inline]
    pub(super) fn participant(&self, index: u32) -> &'a ParticipantRecord {
        match self.find_participant(index) {
            Some(participant) => participant,
            None => ParticipantRecord::dummy(),
        }
    }

    pub(super) fn find_participant(&self, index: u32) -> Option<&'a ParticipantRecord> {
        self.participants.get(index as usize)
    }
}
