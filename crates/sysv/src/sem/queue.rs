//! The lists of waiters: doubly linked, in order of arrival, protected by the set's lock.
//!
//! The lists are derived state; each participant's waiter record is the authoritative copy. If a lock holder dies and
//! leaves lists half-linked, [`rebuild`] builds them anew from the records.

use super::space::Space;
use crate::participant::{ParticipantRecord, WaitList, status};
use crate::store::list::List;
use unspin_sync::atomic::{AtomicU32, Ordering::Relaxed};

// Relaxed throughout: links, counts and tickets are read and written only under the set's lock, whose acquisition and
// release order them.

/// The list for a waiter of this kind on this semaphore.
///
/// The match has no more than three explicit arms. With more the compiler emits a jump table, whose page is in no cache
/// of a process that has just woken up.
pub(super) fn list<'a>(space: &Space<'a>, queue: WaitList, sem: usize) -> &'a List {
    match queue {
        WaitList::Alter => &space.sem(sem).alter,
        WaitList::Zero => &space.sem(sem).zero,
        WaitList::ComplexAlter => &space.set.contended.complex_alter,
        // A vector of semaphore operations never has one of the kinds that wait for messages.
        _ => &space.set.contended.complex_zero,
    }
}

pub(super) fn list_of<'a>(space: &Space<'a>, participant: &ParticipantRecord) -> &'a List {
    let sem = participant.ops().next().map_or(0, |op| op.sem());
    list(space, participant.queue(), sem.min(space.sems.len().saturating_sub(1)))
}

/// Links a waiter whose record is complete into its list.
pub(super) fn link(space: &Space<'_>, index: u32) {
    let participant = space.participant(index);
    list_of(space, participant).push_back(space.participants, index);
    add(&space.set.contended.waiters, 1);
    participant.ops().for_each(|op| add(&space.sem(op.sem()).named, 1));
}

/// Takes a waiter out of its list.
pub(super) fn unlink(space: &Space<'_>, index: u32) {
    let participant = space.participant(index);
    list_of(space, participant).unlink(space.participants, &participant.waiter);
    add(&space.set.contended.waiters, u32::MAX);
    participant.ops().for_each(|op| add(&space.sem(op.sem()).named, u32::MAX));
}

fn add(count: &AtomicU32, n: u32) {
    count.store(count.load(Relaxed).wrapping_add(n), Relaxed);
}

/// Whether this participant, which is linked in a list, waits for this set.
pub(super) fn waits(space: &Space<'_>, participant: &ParticipantRecord) -> bool {
    // Acquire: partner of the Release with which `enqueue` published the record.
    status::is_waiting(participant.waiter.status.load(unspin_sync::atomic::Ordering::Acquire))
        && participant.waiter.object.load(Relaxed) == space.offset
}

/// Whether this participant waits for this set, with operations on semaphores that the set has.
pub(super) fn waits_here(space: &Space<'_>, participant: &ParticipantRecord) -> bool {
    waits(space, participant) && participant.ops().all(|op| op.sem() < space.sems.len())
}

/// Whether a lock holder that serves this set would find the participant: it does not wait here, or it is linked,
/// counted and its semaphores are slow.
#[cfg(not(loom))]
pub(super) fn is_in_order(space: &Space<'_>, index: u32) -> bool {
    let participant = space.participant(index);
    let finds = |sem: usize| space.word(sem).is_slow() && space.sem(sem).named.load(Relaxed) != 0;
    !waits_here(space, participant)
        || (space.set.contended.waiters.load(Relaxed) != 0
            && list_of(space, participant).holds(space.participants, index)
            && participant.ops().all(|op| finds(op.sem())))
}

/// Discards all lists and counts of the set and builds them from the participants' records.
pub(super) fn rebuild(space: &Space<'_>) {
    let contended = &space.set.contended;
    [&contended.complex_alter, &contended.complex_zero].into_iter().for_each(List::clear);
    contended.waiters.store(0, Relaxed);
    contended.marked_slow.store(0, Relaxed);
    for sem in space.sems {
        [&sem.alter, &sem.zero].into_iter().for_each(List::clear);
        sem.named.store(0, Relaxed);
        sem.next_marked_slow.store(0, Relaxed);
    }
    let mut after = 0;
    while let Some((ticket, index)) = next_arrival(space, after) {
        link(space, index);
        after = ticket;
    }
    contended.ticket.store(after.max(contended.ticket.load(Relaxed)), Relaxed);
}

fn next_arrival(space: &Space<'_>, after: u64) -> Option<(u64, u32)> {
    let waiting =
        space.participants.iter().zip(0u32..).filter(|(participant, _)| waits_here(space, participant));
    waiting
        .map(|(participant, i)| (participant.waiter.ticket.load(Relaxed), i))
        .filter(|&(t, _)| t > after)
        .min()
}
