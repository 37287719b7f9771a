//! One operation on one semaphore, without a lock: what most calls of a program come to.

use super::{Sem, word::Word};
use crate::engine::{Inner, count};
use crate::ipc::Access;
use crate::thread::{Known, OutermostSection, Thread};
use crate::time;
use unspin_meter::Event;
use unspin_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use unspin_sys::Errno;
use unspin_sys::ipc::flag::{IPC_NOWAIT, SEM_UNDO};
use unspin_sys::ipc::{SEMVMX, Sembuf};

/// What an attempt without a lock came to.
enum Fast {
    Done,
    Fails(Errno),
    /// Somebody else changed the semaphore meanwhile.
    Raced,
    /// Anything that is not plainly one of the others.
    Undecided,
}

/// Attempts before the lock is taken, which always gets its turn.
const ATTEMPTS: usize = 100;

/// One operation on one semaphore that nobody waits for, of a set that the thread used lately: a compare-and-swap
/// within a read-side section. Calls nothing, so that the hook into which it is inlined need not save registers; what
/// is not plain is left to [`patient`].
#[inline(always)]
pub(super) fn fast(thread: &'static Thread, id: i32, op: Sembuf, now: i64) -> Option<Result<(), Errno>> {
    if i32::from(op.sem_flg) & SEM_UNDO != 0 {
        return None;
    }
    let read = thread.read_outermost()?;
    let Some(known) = thread.remembered(id).filter(|known| known.may_all()) else {
        return undecided(thread, read);
    };
    // The ends apart, so that the compiler need not keep in a register which one it is.
    match attempt(thread, known, op, now) {
        Fast::Done => {
            drop(read);
            if thread.has_duties() {
                thread.attend(Some(Event::FastPath));
            }
            Some(Ok(()))
        }
        Fast::Fails(errno) => {
            drop(read);
            if thread.has_duties() {
                thread.attend(None);
            }
            Some(Err(errno))
        }
        Fast::Raced | Fast::Undecided => undecided(thread, read),
    }
}

/// Leaves [`fast`] without an answer, but not with a signal handler put off: the way on may be short.
#[cold]
#[inline(never)]
fn undecided(thread: &Thread, read: OutermostSection) -> Option<Result<(), Errno>> {
    drop(read);
    if thread.has_duties() {
        thread.attend(None);
    }
    None
}

/// As [`fast`], for a set that the thread has yet to learn of, for a semaphore that others use at this moment, and for
/// threads of every kind.
pub(super) fn patient(
    inner: &'static Inner,
    thread: &'static Thread,
    id: i32,
    op: Sembuf,
) -> Option<Result<(), Errno>> {
    if i32::from(op.sem_flg) & SEM_UNDO != 0 {
        return None;
    }
    let want = if op.sem_op == 0 { Access::Read } else { Access::Alter };
    let read = thread.read();
    let known = inner.recall(thread, id, want)?;
    let mut attempts = (0..ATTEMPTS).map(|_| attempt(thread, known, op, time::seconds()));
    let answer = match attempts.find(|answer| !matches!(answer, Fast::Raced))? {
        Fast::Done => Ok(()),
        Fast::Fails(errno) => Err(errno),
        Fast::Raced | Fast::Undecided => return None,
    };
    drop(read);
    if answer.is_ok() {
        count(thread, Event::FastPath, 1);
    }
    Some(answer)
}

/// One attempt, within a read-side section.
#[inline(always)]
fn attempt(thread: &Thread, known: &Known, op: Sembuf, now: i64) -> Fast {
    let Some(sem) = known.sems().get(usize::from(op.sem_num)) else { return Fast::Undecided };
    // Acquire: as in `exchange`, for an answer that needs no exchange.
    let seen = Word(sem.word.load(Acquire));
    let result = seen.value_or_beyond() + i32::from(op.sem_op);
    if !(0..=SEMVMX).contains(&result) || (op.sem_op == 0 && result != 0) {
        let nowait = i32::from(op.sem_flg) & IPC_NOWAIT != 0;
        // Beyond: a slow word, or ERANGE.
        return if nowait && result <= SEMVMX { Fast::Fails(Errno::EAGAIN) } else { Fast::Undecided };
    }
    if !exchange(sem, seen, Word::new(result, thread.pid())) {
        return Fast::Raced;
    }
    known.set().operated_at(now);
    Fast::Done
}

#[inline(always)]
fn exchange(sem: &Sem, seen: Word, new: Word) -> bool {
    // AcqRel. Release: partner of the Acquire of whoever takes what we post, so that he sees what we did before.
    // Acquire: the other way round. Against a lock holder: either his fetch_or of SLOW comes first, then this fails,
    // or this comes first, then he sees the new value.
    // Relaxed on failure: what was found is not used.
    sem.word.compare_exchange(seen.0, new.0, AcqRel, Relaxed).is_ok()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Engine, Kind, Options};
    use unspin_sys::ipc::flag::IPC_PRIVATE;

    fn op(sem_op: i16) -> Sembuf {
        Sembuf { sem_num: 0, sem_op, sem_flg: IPC_NOWAIT as i16 }
    }

    #[test]
    fn operations_within_a_section_leave_it_open() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let id = engine.semget(IPC_PRIVATE, 1, 0o600).unwrap();
        engine.semop_ops(id, &[op(1)]).unwrap();
        let thread = Thread::plain().expect("this engine has a fast path, and membarrier(2) is allowed");
        let section = thread.read();
        for (change, answer) in [(1, Ok(())), (-1, Ok(())), (-1, Ok(())), (-1, Err(Errno::EAGAIN))] {
            assert_eq!(engine.semop_ops(id, &[op(change)]), answer);
            assert!(thread.is_critical(), "the section goes on");
        }
        drop(section);
        assert!(!thread.is_critical());
        assert_eq!(engine.semop_ops(id, &[op(1)]), Ok(()));
        assert!(!thread.is_critical());
    }

    #[test]
    fn the_fast_path_leaves_what_it_cannot_answer() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let id = engine.semget(IPC_PRIVATE, 1, 0o600).unwrap();
        engine.semop_ops(id, &[op(2)]).unwrap();
        let thread = Thread::plain().expect("as above");
        let fast = |sem_num, sem_op| fast(thread, id, Sembuf { sem_num, ..op(sem_op) }, time::seconds());
        assert_eq!(fast(0, 1), Some(Ok(())));
        assert_eq!(fast(0, -4), Some(Err(Errno::EAGAIN)));
        assert_eq!(fast(0, 0), Some(Err(Errno::EAGAIN)));
        assert_eq!(fast(0, -3), Some(Ok(())));
        assert_eq!(fast(0, 0), Some(Ok(())));
        assert_eq!((fast(0, i16::MAX), fast(0, 1)), (Some(Ok(())), None), "ERANGE is left to the slow way");
        assert_eq!(engine.semop_ops(id, &[op(1)]), Err(Errno::ERANGE));
        assert_eq!(fast(1, 1), None, "an index out of range");
        assert!(!thread.is_critical());
    }
}
