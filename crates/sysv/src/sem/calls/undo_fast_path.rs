//! One operation with `SEM_UNDO` on one semaphore without waiters. It takes the set's lock, because the process's
//! adjustment changes with the value, but uses what the thread has cached for everything else.

use crate::recovery::process::{self, Process};
use crate::sem::change::Change;
use crate::sem::redo::{self, state};
use crate::sem::section::{Performed, proceed};
use crate::sem::word::SLOW;
use crate::sem::{Op, Space, UndoRecord};
use crate::thread::Thread;
use crate::thread::signal_policy;
use crate::time;
use core::iter;
use unspin_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use unspin_sys::Errno;

/// Performs `op`, or returns its error. `None` if this path cannot handle it; then nothing has happened.
pub(super) fn undo_fast_path(thread: &'static Thread, id: i32, op: Op) -> Option<Result<(), Errno>> {
    // Acquire: partner of the exchange in `robust::RobustFutex`: the robust word is held, so the kernel will announce our end.
    let is_held = thread.robust_word.get().is_some_and(|word| process::is_held(word.load(Acquire)));
    // If locks are metered, the path that records them must be used. And the read-side section by itself keeps handlers
    // out only where they come through a trampoline.
    if !is_held || !op.has_undo() || thread.is_metered() || signal_policy::masks() {
        return None;
    }
    let now = time::seconds();
    let read = thread.read_outermost()?;
    let answer = try_under_lock(thread, id, op, now);
    drop(read);
    if thread.has_deferred_work() {
        thread.run_deferred_work(None);
    }
    answer
}

/// Takes the lock of the set, if the thread has cached the set and the record, and if the lock is free.
#[inline(always)]
fn try_under_lock(thread: &'static Thread, id: i32, op: Op, now: i64) -> Option<Result<(), Errno>> {
    let cached = thread.cached_set(id).filter(|cached| cached.allows_all() && cached.undo() != 0)?;
    let (set, sems, arena) = (cached.set(), cached.sems(), &thread.inner().arena);
    if op.sem() >= sems.len() {
        return None;
    }
    let participants = arena.participants(thread.index() as usize + 1);
    let space = Space { set, sems, participants, offset: arena.offset_of(set), arena: Some(arena) };
    let undo = space.record(cached.undo())?;
    thread.count_lock();
    let answer = set.lock().try_acquire(thread.owner()).then(|| {
        let answer = if is_uncontended(thread, &space) { perform(thread, &space, &undo, op) } else { None };
        if answer == Some(Ok(())) {
            set.set_otime(now);
        }
        set.lock().release();
        answer
    });
    thread.uncount_lock();
    answer.flatten()
}

/// Whether no thread waits, the set is not removed, and every process with adjustments is alive.
#[inline(always)]
fn is_uncontended(thread: &Thread, space: &Space<'static>) -> bool {
    let contended = &space.set.contended;
    // Relaxed: under the lock.
    contended.waiters.load(Relaxed) == 0
        && !space.is_deleted()
        && (contended.active.load(Relaxed) == 0 || is_every_owner_alive(thread, space))
}

fn is_every_owner_alive(thread: &Thread, space: &Space<'static>) -> bool {
    let inner = thread.inner();
    space.active().all(|record| {
        record.owner() == thread.process.get().map_or(0, Process::word)
            || Process::from_word(record.owner()).is_some_and(|process| inner.is_robust_word_held(process))
    })
}

/// Like [`crate::sem::SetSection::perform_one`], for a semaphore without waiters.
#[inline(always)]
fn perform(
    thread: &Thread,
    space: &Space<'static>,
    undo: &UndoRecord<'static>,
    op: Op,
) -> Option<Result<(), Errno>> {
    let s = space.sem(op.sem());
    if !space.word(op.sem()).is_slow() {
        // AcqRel: as in `SetSection::mark_slow`.
        s.word.fetch_or(SLOW, AcqRel);
    }
    let before = Change::to(space.word(op.sem()).value());
    let answer = match proceed(op, 0, before, Some(undo)) {
        Ok(change) => {
            let (writer, me) = (thread.record(), thread.index());
            let who = (thread.pid(), undo.at);
            redo::prepare(space, writer, (state::COMMITTED, me), who, iter::once((op.sem(), change)));
            space.put(op.sem(), change.value, who.0);
            space.adjust(undo, op.sem(), change.adjustment.unwrap_or(0));
            redo::clear(writer);
            Some(Ok(()))
        }
        Err(Performed::Fails(errno)) => Some(Err(errno)),
        Err(_) => None,
    };
    // Relaxed: under the lock. No thread waits, so no operation of a waiter names this semaphore.
    if s.adjusted.load(Relaxed) == 0 && space.set.contended.always_slow.load(Relaxed) == 0 {
        // Release: as in `SetSection::restore_fast`.
        s.word.store(s.word.load(Relaxed) & !SLOW, Release);
    }
    answer
}
