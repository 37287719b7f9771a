//! The redo record: it makes a change of several words atomic even if the thread that makes it dies.
//!
//! The writer holds the set's lock, and every word concerned is slow. It writes the change down: which semaphores,
//! which values, which adjustments of one process. Then one store *decides* the change. Then the writer writes the
//! words, and clears the record. A thread that takes over the lock from a dead writer finds the record, and finishes
//! the change if it was decided. Values are absolute, so it is harmless to finish twice, and the finisher may die as
//! well.
//!
//! Which store decides depends on the kind. The record itself decides an operation of the writer. The waiter's
//! status decides a grant to that waiter, because waiter and values must change together; it also decides the revert of
//! a grant to a dead waiter.

use super::change::Change;
use super::op::Op;
use super::set::Sem;
use super::space::Space;
use crate::participant::{ParticipantRecord, status};
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Values of `Redo::state`.
pub mod state {
    /// No change is under way. Zero, so that a new participant has it.
    pub const IDLE: u32 = 0;
    /// Decided.
    pub const COMMITTED: u32 = 1;
    /// Decided once the waiter in the record no longer waits.
    pub const GRANT: u32 = 2;
    /// Decided once the status of the waiter in the record is no longer `GRANTED`.
    pub const REVERT: u32 = 3;
}

/// Writes down the change that the last evaluation of `ops` computed, then the record's kind.
///
/// `about` is the waiter that a grant or a revert concerns, otherwise the writer itself. `undo` is the offset of the
/// record whose adjustments change, or 0.
#[inline]
pub(super) fn prepare(
    space: &Space<'_>,
    writer: &ParticipantRecord,
    (kind, about): (u32, u32),
    (pid, undo): (u32, u64),
    changes: impl Iterator<Item = (usize, Change)>,
) {
    let mut count = 0u32;
    for (word, (sem, change)) in writer.entries().zip(changes) {
        word.store(entry(sem, change), Relaxed);
        count += 1;
    }
    let redo = &writer.redo;
    redo.count.store(count, Relaxed);
    redo.set.store(space.offset, Relaxed);
    redo.pid.store(pid, Relaxed);
    redo.undo.store(undo, Relaxed);
    redo.decider.store(about, Relaxed);
    redo.ticket.store(space.participant(about).waiter.ticket.load(Relaxed), Relaxed);
    // Release: partner of the Acquire in `resolve`: the record is complete when its kind is seen. If the writer dies
    // before this store, the state is IDLE and nothing has happened.
    redo.state.store(kind, Release);
}

/// Like [`prepare`], for a decided change of one semaphore and one adjustment by the writer itself, of the set at the
/// offset `set`. No other thread's status decides it, so the record names none.
#[cfg(not(loom))]
#[inline(always)]
pub(super) fn commit_one(
    set: u64,
    writer: &ParticipantRecord,
    (pid, undo): (u32, u64),
    (sem, change): (usize, Change),
) {
    writer.first_entry().store(entry(sem, change), Relaxed);
    let redo = &writer.redo;
    redo.count.store(1, Relaxed);
    redo.set.store(set, Relaxed);
    redo.pid.store(pid, Relaxed);
    redo.undo.store(undo, Relaxed);
    // Release: as in `prepare`.
    redo.state.store(state::COMMITTED, Release);
}

/// A change and its semaphore as one word.
#[inline(always)]
fn entry(sem: usize, change: Change) -> u64 {
    (sem as u64) << 32 | change.word()
}

/// Writes the words and clears the record.
#[inline]
pub(super) fn apply(space: &Space<'_>, writer: &ParticipantRecord) {
    let redo = &writer.redo;
    let count = redo.count.load(Relaxed) as usize;
    let pid = redo.pid.load(Relaxed);
    let record = space.record(redo.undo.load(Relaxed));
    let reverted = space.participant(redo.decider.load(Relaxed));
    for entry in writer.entries().take(count) {
        let entry = entry.load(Relaxed);
        let (sem, change) = ((entry >> 32) as u16 as usize, Change::from_word(entry));
        if sem < space.sems.len() {
            let pid = if pid == 0 { pid_before_grant(space, sem, reverted) } else { pid };
            space.put(sem, change.value, pid);
            if let (Some(record), Some(adjustment)) = (&record, change.adjustment) {
                space.adjust(record, sem, adjustment);
            }
        }
    }
    clear(writer);
}

/// Stores, beside the waiter's operations, the pids (`sempid`) that a grant to this waiter displaces. While it waits
/// its operations are protected by the set's lock. Its redo entries are not: it may use them itself, to recover a
/// participant that waited for another set.
pub(super) fn note_displaced_pids(space: &Space<'_>, waiter: &ParticipantRecord) {
    for place in waiter.op_words().take(waiter.ops().len()) {
        // Relaxed: ordered by the status that decides the grant.
        let op = Op(place.load(Relaxed));
        place.store(op.with_displaced_pid(space.word(op.sem()).pid()).0, Relaxed);
    }
}

/// The `sempid` of a semaphore after a grant is taken back: the pid before the grant, unless another process has
/// operated on it since.
fn pid_before_grant(space: &Space<'_>, sem: usize, waiter: &ParticipantRecord) -> u32 {
    let now = space.word(sem).pid();
    if now != waiter.waiter.pid.load(Relaxed) {
        return now;
    }
    waiter.ops().find(|op| op.sem() == sem).map_or(now, Op::displaced_pid)
}

/// Clears the record: the change is complete, or was not decided and is discarded.
#[inline]
pub(super) fn clear(writer: &ParticipantRecord) {
    // Release: partner of the Acquire in `resolve`: the words are written before the record is cleared.
    writer.redo.state.store(state::IDLE, Release);
}

/// Finishes or discards every recorded change of this set. Only for a holder that took over the lock of a dead owner:
/// then every such record belongs to a dead holder.
pub(super) fn resolve(space: &Space<'_>) {
    for writer in space.participants {
        // Acquire: partner of the Release in `prepare`.
        let kind = writer.redo.state.load(Acquire);
        if kind == state::IDLE || writer.redo.set.load(Relaxed) != space.offset {
            continue;
        }
        if is_decided(space, writer, kind) { apply(space, writer) } else { clear(writer) }
    }
}

fn is_decided(space: &Space<'_>, writer: &ParticipantRecord, kind: u32) -> bool {
    if kind == state::COMMITTED {
        return true;
    }
    let Some(about) = space.find_participant(writer.redo.decider.load(Relaxed)) else { return false };
    // Acquire: partner of the stores that decide: the swap in `WakeList::finish` and the store in `SetSection::revert`.
    let now = about.waiter.status.load(Acquire);
    let same = about.waiter.ticket.load(Relaxed) == writer.redo.ticket.load(Relaxed)
        && about.waiter.object.load(Relaxed) == space.offset;
    match kind {
        state::GRANT => !(same && status::is_waiting(now)),
        state::REVERT => !(same && status::is_granted(now)),
        _ => false,
    }
}

/// The distinct semaphores of the last evaluation, each with its change. Each is returned once.
pub(super) fn take_changes<'a>(
    sems: &'a [Sem],
    round: u64,
    ops: impl Iterator<Item = usize> + 'a,
) -> impl Iterator<Item = (usize, Change)> + 'a {
    ops.filter_map(move |sem| {
        let s = sems.get(sem)?;
        // Relaxed: scratch under the set's lock.
        (s.round.load(Relaxed) == round).then(|| {
            s.round.store(0, Relaxed);
            (sem, Change::from_word(s.tentative.load(Relaxed)))
        })
    })
}
