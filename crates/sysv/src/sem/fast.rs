//! One operation on one semaphore that nobody waits for: a compare-and-swap, no lock.

use super::{Op, Sem, word::Word};
use unspin_sync::atomic::Ordering::{AcqRel, Acquire};
use unspin_sys::Errno;
use unspin_sys::ipc::SEMVMX;

/// What the fast path came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fast {
    /// The operation has been performed.
    Done,
    /// It fails, with this error.
    Fails(Errno),
    /// Anything that is not plainly one of the others: the set's lock must be taken.
    Undecided,
}

/// Performs `op` for `pid`, unless the answer is another. `before` is called ahead of the exchange, and its result
/// handed back.
#[inline(always)]
pub fn perform<T>(sem: &Sem, op: Op, pid: u32, before: impl FnOnce() -> T) -> Result<T, Fast> {
    // Acquire: as in `exchange`, for an answer that needs no exchange.
    let seen = Word(sem.word.load(Acquire));
    let new = next(seen, op, pid)?;
    let result = before();
    match exchange(sem, seen, new) {
        Ok(()) => Ok(result),
        Err(other) => again(sem, op, pid, other).map(|()| result),
    }
}

/// Somebody else was faster: once more, until it succeeds or is no matter for the fast path.
#[cold]
fn again(sem: &Sem, op: Op, pid: u32, mut seen: Word) -> Result<(), Fast> {
    loop {
        match exchange(sem, seen, next(seen, op, pid)?) {
            Ok(()) => return Ok(()),
            Err(other) => seen = other,
        }
    }
}

/// The word after `op`; or the answer, if there is none.
#[inline(always)]
fn next(seen: Word, op: Op, pid: u32) -> Result<Word, Fast> {
    if seen.is_slow() {
        return Err(Fast::Undecided);
    }
    let result = seen.value() + op.delta();
    if result < 0 || (op.delta() == 0 && seen.value() != 0) {
        return Err(if op.nowait() { Fast::Fails(Errno::EAGAIN) } else { Fast::Undecided });
    }
    if result > SEMVMX {
        return Err(Fast::Fails(Errno::ERANGE));
    }
    Ok(Word::new(result, pid))
}

#[inline(always)]
fn exchange(sem: &Sem, seen: Word, new: Word) -> Result<(), Word> {
    // AcqRel. Release: partner of the Acquire of whoever takes what we post, so that he sees what we did before.
    // Acquire: the other way round. Against a lock holder: either his fetch_or of SLOW comes first, then this fails,
    // or this comes first, then he sees the new value.
    sem.word.compare_exchange(seen.0, new.0, AcqRel, Acquire).map(drop).map_err(Word)
}
