//! One operation with `SEM_UNDO` on one semaphore that nobody waits for: under the set's lock, as the process's adjustment
//! changes with the value, but with nothing done that a thread remembers from the last time.

use super::change::Change;
use super::redo::{self, state};
use super::section::{Performed, proceed};
use super::word::SLOW;
use super::{Op, Record, Space};
use crate::process::{Process, is_held};
use crate::thread::Thread;
use crate::{signal, time};
use core::iter;
use unspin_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use unspin_sys::Errno;

/// Performs `op`, or answers its error; `None` if that is not a plain matter, and nothing has happened.
pub(super) fn flagged(thread: &'static Thread, id: i32, op: Op) -> Option<Result<(), Errno>> {
    // Acquire: partner of the exchange in `robust::Bond`: the word is held, and our end will be told.
    let told = thread.life.get().is_some_and(|life| is_held(life.load(Acquire)));
    // A metered lock must be seen to be taken; and the read-side section keeps handlers out by itself only where they
    // come through a trampoline.
    if !told || !op.undo() || thread.is_metered() || signal::masks() {
        return None;
    }
    let now = time::seconds();
    let read = thread.read_outermost()?;
    let answer = locked(thread, id, op, now);
    drop(read);
    if thread.has_duties() {
        thread.attend(None);
    }
    answer
}

/// Takes the lock of the set, if the thread remembers set and record, and if the lock is free.
#[inline(always)]
fn locked(thread: &'static Thread, id: i32, op: Op, now: i64) -> Option<Result<(), Errno>> {
    let known = thread.remembered(id).filter(|known| known.may_all() && known.undo() != 0)?;
    let (set, sems, arena) = (known.set(), known.sems(), &thread.inner().arena);
    if op.sem() >= sems.len() {
        return None;
    }
    let people = arena.people(thread.index() as usize + 1);
    let space = Space { set, sems, people, offset: arena.offset_of(set), arena: Some(arena) };
    let undo = space.record(known.undo())?;
    thread.enter_busy();
    let answer = set.lock().try_acquire(thread.owner()).then(|| {
        let answer = if is_calm(thread, &space) { perform(thread, &space, &undo, op) } else { None };
        if answer == Some(Ok(())) {
            set.operated_at(now);
        }
        set.lock().release();
        answer
    });
    thread.leave_busy();
    answer.flatten()
}

/// Whether nobody waits, and whoever is owed something lives.
#[inline(always)]
fn is_calm(thread: &Thread, space: &Space<'static>) -> bool {
    let contended = &space.set.contended;
    // Relaxed: under the lock.
    contended.waiters.load(Relaxed) == 0
        && !space.is_deleted()
        && (contended.active.load(Relaxed) == 0 || all_live(thread, space))
}

fn all_live(thread: &Thread, space: &Space<'static>) -> bool {
    let inner = thread.inner();
    space.active().all(|record| {
        record.owner() == thread.process.get().map_or(0, Process::word)
            || Process::from_word(record.owner()).is_some_and(|process| inner.is_watched_over(process))
    })
}

/// As [`super::Section::perform_one`], for a semaphore that nobody waits for.
#[inline(always)]
fn perform(
    thread: &Thread,
    space: &Space<'static>,
    undo: &Record<'static>,
    op: Op,
) -> Option<Result<(), Errno>> {
    let s = space.sem(op.sem());
    if !space.word(op.sem()).is_slow() {
        // AcqRel: as in `Section::touch`.
        s.word.fetch_or(SLOW, AcqRel);
    }
    let before = Change::to(space.word(op.sem()).value());
    let answer = match proceed(op, 0, before, Some(undo)) {
        Ok(change) => {
            let (maker, me) = (thread.person(), thread.index());
            let who = (thread.pid(), undo.at);
            redo::prepare(space, maker, (state::COMMITTED, me), who, iter::once((op.sem(), change)));
            space.put(op.sem(), change.value, who.0);
            space.adjust(undo, op.sem(), change.adjustment.unwrap_or(0));
            redo::clear(maker);
            Some(Ok(()))
        }
        Err(Performed::Fails(errno)) => Some(Err(errno)),
        Err(_) => None,
    };
    // Relaxed: under the lock; nobody waits, so none of its operations is named.
    if s.adjusted.load(Relaxed) == 0 && space.set.contended.always_slow.load(Relaxed) == 0 {
        // Release: as in `Section::thaw`.
        s.word.store(s.word.load(Relaxed) & !SLOW, Release);
    }
    answer
}
