//! One operation on one semaphore without waiters: a compare-and-swap, without a lock.

use super::{Op, Sem, word::Word};
use unspin_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use unspin_sys::Errno;
use unspin_sys::ipc::flag::IPC_NOWAIT;
use unspin_sys::ipc::{SEMVMX, Sembuf};

/// Why an operation was not performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FastPathError {
    /// The operation fails with this error.
    Fails(Errno),
    /// Another thread changed the word first.
    Raced,
    /// Any other case: the set's lock must be taken.
    NeedsLock,
}

/// Attempts before the caller takes the lock, with which it always gets its turn.
const ATTEMPTS: usize = 100;

/// Performs `op` for `pid`; tries again when another thread changes the word first.
pub fn perform(sem: &Sem, op: Op, pid: u32) -> Result<(), FastPathError> {
    let mut answers = (0..ATTEMPTS).map(|_| attempt(sem, op.unpack(), || pid));
    answers.find(|answer| *answer != Err(FastPathError::Raced)).unwrap_or(Err(FastPathError::NeedsLock))
}

/// Performs `op` for `pid` in one attempt. The pid is read only when it is needed, when a register is free.
#[inline(always)]
pub fn attempt(sem: &Sem, op: Sembuf, pid: impl FnOnce() -> u32) -> Result<(), FastPathError> {
    // Acquire: as in `exchange`, for a result that needs no exchange.
    let seen = Word(sem.word.load(Acquire));
    let result = seen.value_or_beyond() + i32::from(op.sem_op);
    if !(0..=SEMVMX).contains(&result) || (op.sem_op == 0 && result != 0) {
        let nowait = i32::from(op.sem_flg) & IPC_NOWAIT != 0;
        // Above SEMVMX: a slow word, or ERANGE.
        return Err(if nowait && result <= SEMVMX {
            FastPathError::Fails(Errno::EAGAIN)
        } else {
            FastPathError::NeedsLock
        });
    }
    if exchange(sem, seen, Word::new(result, pid())) { Ok(()) } else { Err(FastPathError::Raced) }
}

#[inline(always)]
fn exchange(sem: &Sem, seen: Word, new: Word) -> bool {
    // AcqRel. Release: partner of the Acquire of a thread that takes what we post, so that it sees what we did before.
    // Acquire: the same in the other direction. Against a lock holder: if its fetch_or of SLOW comes first, this
    // exchange fails; if this exchange comes first, the holder sees the new value.
    // Relaxed on failure: the value found is not used.
    sem.word.compare_exchange(seen.0, new.0, AcqRel, Relaxed).is_ok()
}
