//! Lists of waiters: doubly linked, in order of arrival, protected by the lock of the object that they wait for.
//!
//! They are derived state; each participant's waiter record is the authoritative copy. If a lock holder dies and leaves
//! lists half-linked, they are built anew.

use crate::participant::{Participant, Waiter};
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
        people: &'a [Participant],
    ) -> impl Iterator<Item = (u32, &'a Participant)> + use<'a> {
        let mut next = self.head.load(Relaxed);
        // A list cannot be longer than the number of participants: that bounds the walk whatever memory contains.
        (0..people.len()).map_while(move |_| {
            let index = next.checked_sub(1)?;
            let person = people.get(index as usize)?;
            next = person.waiter.next.load(Relaxed);
            Some((index, person))
        })
    }

    /// The participants before a waiter, nearest first.
    pub(crate) fn before<'a>(
        people: &'a [Participant],
        waiter: &Waiter,
    ) -> impl Iterator<Item = (u32, &'a Participant)> + use<'a> {
        let mut prev = waiter.prev.load(Relaxed);
        // Bounded as in `iter`.
        (0..people.len()).map_while(move |_| {
            let index = prev.checked_sub(1)?;
            let person = people.get(index as usize)?;
            prev = person.waiter.prev.load(Relaxed);
            Some((index, person))
        })
    }

    /// Whether the links of a waiter's neighbours, or of the list's ends, refer back to the waiter.
    #[cfg(not(loom))]
    pub(crate) fn holds(&self, people: &[Participant], index: u32) -> bool {
        let Some(Participant { waiter, .. }) = people.get(index as usize) else { return false };
        let (prev, next) = (waiter.prev.load(Relaxed), waiter.next.load(Relaxed));
        self.next_of(people, prev).load(Relaxed) == index + 1
            && self.prev_of(people, next).load(Relaxed) == index + 1
    }

    pub(crate) fn push_back(&self, people: &[Participant], index: u32) {
        let Some(Participant { waiter, .. }) = people.get(index as usize) else { return };
        let tail = self.tail.load(Relaxed);
        waiter.prev.store(tail, Relaxed);
        waiter.next.store(0, Relaxed);
        self.next_of(people, tail).store(index + 1, Relaxed);
        self.tail.store(index + 1, Relaxed);
    }

    /// Inserts a waiter at the position that its ticket gives.
    #[cfg(not(loom))]
    pub(crate) fn insert(&self, people: &[Participant], index: u32) {
        let ticket = |waiter: &Waiter| waiter.ticket.load(Relaxed);
        let Some(Participant { waiter, .. }) = people.get(index as usize) else { return };
        let is_last = |tail: u32| {
            tail.checked_sub(1)
                .and_then(|i| people.get(i as usize))
                .is_none_or(|last| ticket(&last.waiter) <= ticket(waiter))
        };
        if is_last(self.tail.load(Relaxed)) {
            return self.push_back(people, index);
        }
        let Some((after, person)) =
            self.iter(people).find(|(_, other)| ticket(&other.waiter) > ticket(waiter))
        else {
            return self.push_back(people, index);
        };
        let before = person.waiter.prev.load(Relaxed);
        waiter.prev.store(before, Relaxed);
        waiter.next.store(after + 1, Relaxed);
        self.next_of(people, before).store(index + 1, Relaxed);
        person.waiter.prev.store(index + 1, Relaxed);
    }

    pub(crate) fn unlink(&self, people: &[Participant], waiter: &Waiter) {
        let (prev, next) = (waiter.prev.load(Relaxed), waiter.next.load(Relaxed));
        self.next_of(people, prev).store(next, Relaxed);
        match next.checked_sub(1).and_then(|i| people.get(i as usize)) {
            Some(person) => person.waiter.prev.store(prev, Relaxed),
            None => self.tail.store(prev, Relaxed),
        }
    }

    fn next_of<'l>(&'l self, people: &'l [Participant], link: u32) -> &'l AtomicU32 {
        match link.checked_sub(1).and_then(|i| people.get(i as usize)) {
            Some(person) => &person.waiter.next,
            None => &self.head,
        }
    }

    #[cfg(not(loom))]
    fn prev_of<'l>(&'l self, people: &'l [Participant], link: u32) -> &'l AtomicU32 {
        match link.checked_sub(1).and_then(|i| people.get(i as usize)) {
            Some(person) => &person.waiter.prev,
            None => &self.tail,
        }
    }

    pub(crate) fn clear(&self) {
        self.head.store(0, Relaxed);
        self.tail.store(0, Relaxed);
    }
}
