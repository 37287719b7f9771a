//! All or nothing, whoever dies: the record of a change of several words.
//!
//! Under the set's lock and with every word concerned slow, a change is written down (which semaphores, which
//! values, which adjustments of one process), then it is *decided* by one store, then the words are written, then the record is cleared. Whoever
//! inherits the lock finds the record and finishes the change if it was decided. Values are absolute, so that
//! finishing twice is harmless, and a finisher may die as well.
//!
//! What decides depends on the kind. An operation of the caller's own is decided by the record itself. A grant
//! to a waiter is decided by the waiter's status, because waiter and values must change together; taking a
//! grant back from a dead waiter likewise.

use super::change::Change;
use super::set::Sem;
use super::space::Space;
use super::vector::Op;
use crate::participant::{Participant, status};
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Values of `Redo::state`.
pub mod state {
    /// No change is under way. Zero: a new participant.
    pub const IDLE: u32 = 0;
    /// Decided.
    pub const COMMITTED: u32 = 1;
    /// Decided once the waiter named is no longer waiting.
    pub const GRANT: u32 = 2;
    /// Decided once the grant to the waiter named is no longer `GRANTED`.
    pub const REVERT: u32 = 3;
}

/// Writes down the change that the last evaluation of `ops` computed, and the record's kind with it.
///
/// `about` is the waiter that a grant or a revert concerns, the maker himself otherwise; `undo` the offset of the record
/// whose adjustments change, if any do.
#[inline]
pub(super) fn prepare(
    space: &Space<'_>,
    maker: &Participant,
    (kind, about): (u32, u32),
    (pid, undo): (u32, u64),
    changes: impl Iterator<Item = (usize, Change)>,
) {
    let mut count = 0u32;
    for (entry, (sem, change)) in maker.entries().zip(changes) {
        entry.store((sem as u64) << 32 | change.word(), Relaxed);
        count += 1;
    }
    let redo = &maker.redo;
    redo.count.store(count, Relaxed);
    redo.set.store(space.offset, Relaxed);
    redo.pid.store(pid, Relaxed);
    redo.undo.store(undo, Relaxed);
    redo.whose.store(about, Relaxed);
    redo.ticket.store(space.someone(about).waiter.ticket.load(Relaxed), Relaxed);
    // Release: partner of the Acquire in `resolve`: the record is complete when its kind is seen. Who dies
    // between two of these stores leaves IDLE, and nothing has happened.
    redo.state.store(kind, Release);
}

/// Writes the words and clears the record.
#[inline]
pub(super) fn apply(space: &Space<'_>, maker: &Participant) {
    let redo = &maker.redo;
    let count = redo.count.load(Relaxed) as usize;
    let pid = redo.pid.load(Relaxed);
    let record = space.record(redo.undo.load(Relaxed));
    let reverted = space.someone(redo.whose.load(Relaxed));
    for entry in maker.entries().take(count) {
        let entry = entry.load(Relaxed);
        let (sem, change) = ((entry >> 32) as u16 as usize, Change::from_word(entry));
        if sem < space.sems.len() {
            let pid = if pid == 0 { displaced(space, sem, reverted) } else { pid };
            space.put(sem, change.value, pid);
            if let (Some(record), Some(adjustment)) = (&record, change.adjustment) {
                space.adjust(record, sem, adjustment);
            }
        }
    }
    clear(maker);
}

/// Notes whose pids a grant to this waiter takes the place of, beside its operations: while it waits they are under the set's
/// lock, whereas its entries are its own, as it may bury somebody who waited for another set.
pub(super) fn note_displaced(space: &Space<'_>, waiter: &Participant) {
    for place in waiter.op_places().take(waiter.ops().len()) {
        // Relaxed: ordered by the status that decides the grant.
        let op = Op(place.load(Relaxed));
        place.store(op.displacing(space.word(op.sem()).pid()).0, Relaxed);
    }
}

/// Whose pid a semaphore has when a grant is taken back: that of before, unless somebody was there since.
fn displaced(space: &Space<'_>, sem: usize, waiter: &Participant) -> u32 {
    let now = space.word(sem).pid();
    if now != waiter.waiter.pid.load(Relaxed) {
        return now;
    }
    waiter.ops().find(|op| op.sem() == sem).map_or(now, Op::displaced)
}

/// Forgets a change that was not decided.
#[inline]
pub(super) fn clear(maker: &Participant) {
    // Release: partner of the Acquire in `resolve`: the words are written before the record is gone.
    maker.redo.state.store(state::IDLE, Release);
}

/// Finishes or forgets every change of this set that is written down. Only for a lock holder who inherited
/// the lock: then every such record is a dead holder's.
pub(super) fn resolve(space: &Space<'_>) {
    for maker in space.people {
        // Acquire: partner of the Release in `prepare`.
        let kind = maker.redo.state.load(Acquire);
        if kind == state::IDLE || maker.redo.set.load(Relaxed) != space.offset {
            continue;
        }
        if is_decided(space, maker, kind) { apply(space, maker) } else { clear(maker) }
    }
}

fn is_decided(space: &Space<'_>, maker: &Participant, kind: u32) -> bool {
    let Some(about) = space.person(maker.redo.whose.load(Relaxed)) else { return false };
    // Acquire: partner of the swaps that decide, in `Section::finish` and `Section::revert`.
    let now = about.waiter.status.load(Acquire);
    let same = about.waiter.ticket.load(Relaxed) == maker.redo.ticket.load(Relaxed)
        && about.waiter.object.load(Relaxed) == space.offset;
    match kind {
        state::COMMITTED => true,
        state::GRANT => !(same && status::is_waiting(now)),
        state::REVERT => !(same && status::is_granted(now)),
        _ => false,
    }
}

/// The distinct semaphores of the last evaluation with what becomes of them: each is handed out once.
pub(super) fn changed<'a>(
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
