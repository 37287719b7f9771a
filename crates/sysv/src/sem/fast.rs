//! One operation on one semaphore that nobody waits for: a compare-and-swap, no lock.

use super::{Op, Sem, word::Word};
use unspin_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use unspin_sys::Errno;
use unspin_sys::ipc::flag::IPC_NOWAIT;
use unspin_sys::ipc::{SEMVMX, Sembuf};

/// Why an operation was not performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fast {
    /// It fails, with this error.
    Fails(Errno),
    /// Somebody else was faster.
    Raced,
    /// Anything that is not plainly one of the others: the set's lock must be taken.
    Undecided,
}

/// Attempts before the lock is taken, which always gets its turn.
const ATTEMPTS: usize = 100;

/// Performs `op` for `pid`, however often somebody else is faster.
pub fn perform(sem: &Sem, op: Op, pid: u32) -> Result<(), Fast> {
    let mut answers = (0..ATTEMPTS).map(|_| attempt(sem, op.unpack(), || pid));
    answers.find(|answer| *answer != Err(Fast::Raced)).unwrap_or(Err(Fast::Undecided))
}

/// Performs `op` for `pid`, unless the answer is another. The pid is asked for when it is needed, and a register free.
#[inline(always)]
pub fn attempt(sem: &Sem, op: Sembuf, pid: impl FnOnce() -> u32) -> Result<(), Fast> {
    // Acquire: as in `exchange`, for an answer that needs no exchange.
    let seen = Word(sem.word.load(Acquire));
    let result = seen.value_or_beyond() + i32::from(op.sem_op);
    if !(0..=SEMVMX).contains(&result) || (op.sem_op == 0 && result != 0) {
        let nowait = i32::from(op.sem_flg) & IPC_NOWAIT != 0;
        // Beyond SEMVMX: a slow word, or ERANGE.
        return Err(if nowait && result <= SEMVMX { Fast::Fails(Errno::EAGAIN) } else { Fast::Undecided });
    }
    if exchange(sem, seen, Word::new(result, pid())) { Ok(()) } else { Err(Fast::Raced) }
}

#[inline(always)]
fn exchange(sem: &Sem, seen: Word, new: Word) -> bool {
    // AcqRel. Release: partner of the Acquire of whoever takes what we post, so that he sees what we did before.
    // Acquire: the other way round. Against a lock holder: either his fetch_or of SLOW comes first, then this fails,
    // or this comes first, then he sees the new value.
    // Relaxed on failure: what was found is not used.
    sem.word.compare_exchange(seen.0, new.0, AcqRel, Relaxed).is_ok()
}
