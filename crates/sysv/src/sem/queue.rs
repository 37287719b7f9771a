//! The lists of waiters: doubly linked, in order of arrival, under the set's lock.
//!
//! They are derived state. The truth is in each participant's waiter record, so that lists which a dead lock
//! holder left half-linked are simply built anew: [`rebuild`].

use super::set::List;
use super::space::Space;
use crate::participant::{Participant, Queue, Waiter, status};
use unspin_sync::atomic::{AtomicU32, Ordering::Relaxed};

// Relaxed throughout: links, counts and tickets are read and written under the set's lock only, whose
// acquisition and release order them.

/// The list that holds a waiter of this kind on this semaphore.
pub(super) fn list<'a>(space: &Space<'a>, queue: Queue, sem: usize) -> &'a List {
    match queue {
        Queue::Alter => &space.sems[sem].alter,
        Queue::Zero => &space.sems[sem].zero,
        Queue::ComplexAlter => &space.set.contended.complex_alter,
        Queue::ComplexZero => &space.set.contended.complex_zero,
    }
}

impl List {
    pub(super) fn is_empty(&self) -> bool {
        self.head.load(Relaxed) == 0
    }

    /// Participants in order of arrival. The next one is read before the present one is handed out, so that
    /// the caller may unlink it.
    pub(super) fn iter<'a>(
        &self,
        space: &Space<'a>,
    ) -> impl Iterator<Item = (u32, &'a Participant)> + use<'a> {
        let people = space.people;
        let mut next = self.head.load(Relaxed);
        // A list cannot be longer than there are participants: bounds the walk whatever memory holds.
        (0..people.len()).map_while(move |_| {
            let index = next.checked_sub(1)?;
            let person = people.get(index as usize)?;
            next = person.waiter.next.load(Relaxed);
            Some((index, person))
        })
    }

    fn push_back(&self, space: &Space<'_>, index: u32) {
        let waiter = &space.people[index as usize].waiter;
        let tail = self.tail.load(Relaxed);
        waiter.prev.store(tail, Relaxed);
        waiter.next.store(0, Relaxed);
        self.next_of(space, tail).store(index + 1, Relaxed);
        self.tail.store(index + 1, Relaxed);
    }

    fn unlink(&self, space: &Space<'_>, waiter: &Waiter) {
        let (prev, next) = (waiter.prev.load(Relaxed), waiter.next.load(Relaxed));
        self.next_of(space, prev).store(next, Relaxed);
        match next.checked_sub(1).and_then(|i| space.person(i)) {
            Some(person) => person.waiter.prev.store(prev, Relaxed),
            None => self.tail.store(prev, Relaxed),
        }
    }

    fn next_of<'l>(&'l self, space: &Space<'l>, link: u32) -> &'l AtomicU32 {
        match link.checked_sub(1).and_then(|i| space.person(i)) {
            Some(person) => &person.waiter.next,
            None => &self.head,
        }
    }

    fn clear(&self) {
        self.head.store(0, Relaxed);
        self.tail.store(0, Relaxed);
    }
}

fn home<'a>(space: &Space<'a>, person: &Participant) -> &'a List {
    let sem = person.ops().next().map_or(0, |op| op.sem());
    list(space, person.queue(), sem.min(space.sems.len() - 1))
}

/// Links a waiter whose record is complete.
pub(super) fn link(space: &Space<'_>, index: u32) {
    let person = &space.people[index as usize];
    home(space, person).push_back(space, index);
    add(&space.set.contended.waiters, 1);
    person.ops().for_each(|op| add(&space.sems[op.sem()].named, 1));
}

/// Takes a waiter out of its list.
pub(super) fn unlink(space: &Space<'_>, index: u32) {
    let person = &space.people[index as usize];
    home(space, person).unlink(space, &person.waiter);
    add(&space.set.contended.waiters, u32::MAX);
    person.ops().for_each(|op| add(&space.sems[op.sem()].named, u32::MAX));
}

fn add(count: &AtomicU32, n: u32) {
    count.store(count.load(Relaxed).wrapping_add(n), Relaxed);
}

/// Whether this participant waits for this set.
pub(super) fn waits_here(space: &Space<'_>, person: &Participant) -> bool {
    // Acquire: partner of the Release with which `enqueue` published the record.
    status::is_waiting(person.waiter.status.load(unspin_sync::atomic::Ordering::Acquire))
        && person.waiter.set.load(Relaxed) == space.offset
        && person.ops().all(|op| op.sem() < space.sems.len())
}

/// Forgets all lists and counts of the set and builds them from the participants' records.
pub(super) fn rebuild(space: &Space<'_>) {
    let contended = &space.set.contended;
    [&contended.complex_alter, &contended.complex_zero].into_iter().for_each(List::clear);
    contended.waiters.store(0, Relaxed);
    contended.touched.store(0, Relaxed);
    for sem in space.sems {
        [&sem.alter, &sem.zero].into_iter().for_each(List::clear);
        sem.named.store(0, Relaxed);
        sem.next_touched.store(0, Relaxed);
    }
    let mut after = 0;
    while let Some((ticket, index)) = next_arrival(space, after) {
        link(space, index);
        after = ticket;
    }
    contended.ticket.store(after.max(contended.ticket.load(Relaxed)), Relaxed);
}

fn next_arrival(space: &Space<'_>, after: u64) -> Option<(u64, u32)> {
    let waiting = space.people.iter().zip(0u32..).filter(|(person, _)| waits_here(space, person));
    waiting.map(|(person, i)| (person.waiter.ticket.load(Relaxed), i)).filter(|&(t, _)| t > after).min()
}
