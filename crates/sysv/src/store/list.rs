//! Lists of waiters: doubly linked, in order of arrival, protected by the lock of the object that they wait for.
//!
//! They are derived state; each participant's waiter record is the authoritative copy. If a lock holder dies and leaves
//! lists half-linked, they are built anew.

use crate::participant::{ParticipantRecord, Waiter};
use unspin_sync::atomic::{AtomicU32, Ordering::Relaxed};

// Relaxed throughout: links are read and written only under the object's lock, whose acquisition and release order
// them.

/// First and last participant of a list, as indices plus one; 0 is none. Protected by the object's lock.
#[repr(C)]
#[derive(Debug, Default)]
pub struct List {
    pub(crate) head: AtomicU32,
    pub(crate) tail: AtomicU32,
}

impl List {
    pub(crate) fn is_empty(&self) -> bool {
        self.head.load(Relaxed) == 0
    }

    /// Participants in order of arrival. The next one is read before the present one is returned, so the caller may
    /// unlink the present one.
    pub(crate) fn iter<'a>(
        &self,
        participants: &'a [ParticipantRecord],
    ) -> impl Iterator<Item = (u32, &'a ParticipantRecord)> + use<'a> {
        let mut next = self.head.load(Relaxed);
        // A list cannot be longer than the number of participants: that bounds the walk whatever memory contains.
        (0..participants.len()).map_while(move |_| {
            let index = next.checked_sub(1)?;
            let participant = participants.get(index as usize)?;
            next = participant.waiter.next.load(Relaxed);
            Some((index, participant))
        })
    }

    /// The participants before a waiter, nearest first.
    pub(crate) fn before<'a>(
        participants: &'a [ParticipantRecord],
        waiter: &Waiter,
    ) -> impl Iterator<Item = (u32, &'a ParticipantRecord)> + use<'a> {
        let mut prev = waiter.prev.load(Relaxed);
        // Bounded as in `iter`.
        (0..participants.len()).map_while(move |_| {
            let index = prev.checked_sub(1)?;
            let participant = participants.get(index as usize)?;
            prev = participant.waiter.prev.load(Relaxed);
            Some((index, participant))
        })
    }

    /// The participant right behind a waiter.
    pub(crate) fn behind<'a>(
        participants: &'a [ParticipantRecord],
        waiter: &Waiter,
    ) -> Option<(u32, &'a ParticipantRecord)> {
        let index = waiter.next.load(Relaxed).checked_sub(1)?;
        Some((index, participants.get(index as usize)?))
    }

    /// Whether the links of a waiter's neighbours, or of the list's ends, refer back to the waiter.
    #[cfg(not(loom))]
    pub(crate) fn holds(&self, participants: &[ParticipantRecord], index: u32) -> bool {
        let Some(ParticipantRecord { waiter, .. }) = participants.get(index as usize) else { return false };
        let (prev, next) = (waiter.prev.load(Relaxed), waiter.next.load(Relaxed));
        self.next_of(participants, prev).load(Relaxed) == index + 1
            && self.prev_of(participants, next).load(Relaxed) == index + 1
    }

    pub(crate) fn push_back(&self, participants: &[ParticipantRecord], index: u32) {
        let Some(ParticipantRecord { waiter, .. }) = participants.get(index as usize) else { return };
        let tail = self.tail.load(Relaxed);
        waiter.prev.store(tail, Relaxed);
        waiter.next.store(0, Relaxed);
        self.next_of(participants, tail).store(index + 1, Relaxed);
        self.tail.store(index + 1, Relaxed);
    }

    /// Inserts a waiter at the position that its ticket gives.
    #[cfg(not(loom))]
    pub(crate) fn insert(&self, participants: &[ParticipantRecord], index: u32) {
        let ticket = |waiter: &Waiter| waiter.ticket.load(Relaxed);
        let Some(ParticipantRecord { waiter, .. }) = participants.get(index as usize) else { return };
        let is_last = |tail: u32| {
            tail.checked_sub(1)
                .and_then(|i| participants.get(i as usize))
                .is_none_or(|last| ticket(&last.waiter) <= ticket(waiter))
        };
        if is_last(self.tail.load(Relaxed)) {
            return self.push_back(participants, index);
        }
        let Some((after, participant)) =
            self.iter(participants).find(|(_, other)| ticket(&other.waiter) > ticket(waiter))
        else {
            return self.push_back(participants, index);
        };
        let before = participant.waiter.prev.load(Relaxed);
        waiter.prev.store(before, Relaxed);
        waiter.next.store(after + 1, Relaxed);
        self.next_of(participants, before).store(index + 1, Relaxed);
        participant.waiter.prev.store(index + 1, Relaxed);
    }

    pub(crate) fn unlink(&self, participants: &[ParticipantRecord], waiter: &Waiter) {
        let (prev, next) = (waiter.prev.load(Relaxed), waiter.next.load(Relaxed));
        self.next_of(participants, prev).store(next, Relaxed);
        match next.checked_sub(1).and_then(|i| participants.get(i as usize)) {
            Some(participant) => participant.waiter.prev.store(prev, Relaxed),
            None => self.tail.store(prev, Relaxed),
        }
    }

    fn next_of<'l>(&'l self, participants: &'l [ParticipantRecord], link: u32) -> &'l AtomicU32 {
        match link.checked_sub(1).and_then(|i| participants.get(i as usize)) {
            Some(participant) => &participant.waiter.next,
            None => &self.head,
        }
    }

    #[cfg(not(loom))]
    fn prev_of<'l>(&'l self, participants: &'l [ParticipantRecord], link: u32) -> &'l AtomicU32 {
        match link.checked_sub(1).and_then(|i| participants.get(i as usize)) {
            Some(participant) => &participant.waiter.prev,
            None => &self.tail,
        }
    }

    pub(crate) fn clear(&self) {
        self.head.store(0, Relaxed);
        self.tail.store(0, Relaxed);
    }
}
