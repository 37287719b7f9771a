//! One operation with `SEM_UNDO` on one semaphore without waiters. It takes the set's lock, because the process's
//! adjustment changes with the value, but uses what the thread has cached for everything else.

use crate::recovery::process::{self, Process};
use crate::sem::change::Change;
use crate::sem::redo;
use crate::sem::section::{Performed, proceed};
use crate::sem::word::{SLOW, Word};
use crate::sem::{Op, Sem, Space, UndoRecord};
use crate::thread::Thread;
use crate::thread::signal_policy;
use unspin_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use unspin_sys::Errno;

/// Performs `op` at the time `now`, in seconds, or returns its error. `None` if this path cannot handle it; then nothing
/// has happened.
///
/// Everything that the usual case needs is inlined, and passed by value: the address of a value that is passed to a
/// function keeps the value in memory.
pub(super) fn undo_fast_path(
    thread: &'static Thread,
    id: i32,
    op: Op,
    now: i64,
) -> Option<Result<(), Errno>> {
    // Acquire: partner of the exchange in `robust::RobustFutex`: the robust word is held, so the kernel will announce our end.
    let is_held = thread.robust_word.get().is_some_and(|word| process::is_held(word.load(Acquire)));
    // If locks are metered, the path that records them must be used. And the read-side section by itself keeps handlers
    // out only where they come through a trampoline.
    if !is_held || !op.has_undo() || thread.is_metered() || signal_policy::masks() {
        return None;
    }
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
    let cached = thread.cached_set(id).filter(|cached| cached.allows_all())?;
    let (set, sems, arena) = (cached.set(), cached.sems(), &thread.inner().arena);
    let sem = sems.get(op.sem())?;
    // The records of participants are not needed where no thread waits.
    let space = Space { set, sems, participants: &[], offset: arena.offset_of(set), arena: Some(arena) };
    let undo = space.record(cached.undo())?;
    thread.count_lock();
    let answer = if set.lock().try_acquire(thread.owner()) {
        let answer = perform(thread, space, undo, (op, sem));
        if answer == Some(Ok(())) {
            set.set_otime(now);
        }
        set.lock().release();
        answer
    } else {
        None
    };
    thread.uncount_lock();
    answer
}

/// Whether no thread waits, the set is not removed, and every process with adjustments is alive. `own` is the calling
/// process's record.
#[inline(always)]
fn is_uncontended(thread: &Thread, space: Space<'static>, own: UndoRecord<'static>) -> bool {
    let contended = &space.set.contended;
    // Relaxed: under the lock.
    let active = contended.active.load(Relaxed);
    contended.waiters.load(Relaxed) == 0
        && !space.is_deleted()
        && (active == 0 || own.is_only_active(active) || is_every_owner_alive(thread, space))
}

#[inline(never)]
fn is_every_owner_alive(thread: &Thread, space: Space<'static>) -> bool {
    let inner = thread.inner();
    space.active().all(|record| {
        record.owner() == thread.process.get().map_or(0, Process::word)
            || Process::from_word(record.owner()).is_some_and(|process| inner.is_robust_word_held(process))
    })
}

/// Like [`crate::sem::SetSection::perform_one`], for a semaphore without waiters.
///
/// The word stays slow. The next operation without `SEM_UNDO` takes the lock and makes it fast again if no process has
/// an adjustment then. So a pair of operations with `SEM_UNDO` does not set and clear the bit each time.
#[inline(always)]
fn perform(
    thread: &Thread,
    space: Space<'static>,
    undo: UndoRecord<'static>,
    (op, sem): (Op, &Sem),
) -> Option<Result<(), Errno>> {
    if !is_uncontended(thread, space, undo) {
        return None;
    }
    // Acquire: as in `Space::word`.
    let word = Word(sem.word.load(Acquire));
    // AcqRel: as in `SetSection::mark_slow`. Relaxed on failure: nothing has happened, and the value is not used.
    if !word.is_slow() && sem.word.compare_exchange(word.0, word.0 | SLOW, AcqRel, Relaxed).is_err() {
        return None;
    }
    match proceed(op, 0, Change::to(word.value()), Some(&undo)) {
        Ok(change) => {
            let (writer, pid) = (thread.record(), thread.pid());
            redo::commit_one(space.offset, writer, (pid, undo.at), (op.sem(), change));
            space.put(op.sem(), change.value, pid);
            space.adjust(&undo, op.sem(), change.adjustment.unwrap_or(0));
            redo::clear(writer);
            Some(Ok(()))
        }
        Err(Performed::Fails(errno)) => Some(Err(errno)),
        Err(_) => None,
    }
}
