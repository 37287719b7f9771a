//! One operation on one semaphore by the calling thread, without a lock: the case of most calls of a program.

use crate::engine::Inner;
use crate::registry::Access;
use crate::sem::Op;
use crate::sem::fast::{self, FastPathError};
use crate::thread::{OutermostSection, Thread};
use crate::time;
use unspin_sys::Errno;
use unspin_sys::ipc::{Sembuf, flag::SEM_UNDO};
use unspin_wire::Event;

/// One operation on one semaphore without waiters, of a set in the thread's cache: a compare-and-swap within a
/// read-side section. It calls no function, so that the hook into which it is inlined need not save registers. All
/// other cases are refused (`None`); then nothing has happened.
#[inline(always)]
pub(super) fn fast_path(thread: &'static Thread, id: i32, op: Sembuf, now: i64) -> Option<Result<(), Errno>> {
    if i32::from(op.sem_flg) & SEM_UNDO != 0 {
        return None;
    }
    let read = thread.read_outermost()?;
    let Some(cached) = thread.cached_set(id).filter(|cached| cached.allows_all()) else {
        return refuse(thread, read);
    };
    let Some(sem) = cached.sems().get(usize::from(op.sem_num)) else { return refuse(thread, read) };
    // The ends are apart, so that the compiler need not keep in a register which one it is.
    match fast::attempt(sem, op, || thread.pid()) {
        Ok(()) => {
            cached.set().set_otime(now);
            drop(read);
            if thread.has_deferred_work() {
                thread.run_deferred_work(Some(Event::FastPath));
            }
            Some(Ok(()))
        }
        Err(FastPathError::Fails(errno)) => {
            drop(read);
            if thread.has_deferred_work() {
                thread.run_deferred_work(None);
            }
            Some(Err(errno))
        }
        Err(FastPathError::Raced | FastPathError::NeedsLock) => refuse(thread, read),
    }
}

/// Leaves [`fast_path`] without a result. A deferred signal handler runs first, because the caller's next step may
/// contain no other such point.
#[cold]
#[inline(never)]
fn refuse(thread: &Thread, read: OutermostSection) -> Option<Result<(), Errno>> {
    drop(read);
    if thread.has_deferred_work() {
        thread.run_deferred_work(None);
    }
    None
}

/// Like [`fast_path`], but it also handles a set that is not yet in the thread's cache, a semaphore that others use at
/// this moment, and threads without a fast path.
pub(super) fn fast_path_retry(
    inner: &'static Inner,
    thread: &'static Thread,
    id: i32,
    op: Op,
) -> Option<Result<(), Errno>> {
    if op.has_undo() {
        return None;
    }
    let want = if op.delta() == 0 { Access::Read } else { Access::Alter };
    let read = thread.read();
    let cached = inner.cached_set_for(thread, id, want)?;
    let now = time::seconds();
    match fast::perform(cached.sems().get(op.sem())?, op, thread.pid()) {
        Ok(()) => {
            cached.set().set_otime(now);
            drop(read);
            thread.count(Event::FastPath, 1);
            Some(Ok(()))
        }
        Err(FastPathError::Fails(errno)) => Some(Err(errno)),
        Err(FastPathError::Raced | FastPathError::NeedsLock) => None,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Engine, Kind, Options};
    use unspin_sys::ipc::flag::{IPC_NOWAIT, IPC_PRIVATE};

    fn op(sem_op: i16) -> Sembuf {
        Sembuf { sem_num: 0, sem_op, sem_flg: IPC_NOWAIT as i16 }
    }

    #[test]
    fn fast_path_inside_read_section_leaves_section_open() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let id = engine.semget(IPC_PRIVATE, 1, 0o600).unwrap();
        engine.semop_ops(id, &[op(1)]).unwrap();
        let thread =
            Thread::fast_path_thread().expect("this engine has a fast path, and membarrier(2) is allowed");
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
    fn fast_path_returns_none_for_other_cases() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let id = engine.semget(IPC_PRIVATE, 1, 0o600).unwrap();
        engine.semop_ops(id, &[op(2)]).unwrap();
        let thread = Thread::fast_path_thread().expect("as above");
        let fast = |sem_num, sem_op| fast_path(thread, id, Sembuf { sem_num, ..op(sem_op) }, time::seconds());
        assert_eq!(fast(0, 1), Some(Ok(())));
        assert_eq!(fast(0, -4), Some(Err(Errno::EAGAIN)));
        assert_eq!(fast(0, 0), Some(Err(Errno::EAGAIN)));
        assert_eq!(fast(0, -3), Some(Ok(())));
        assert_eq!(fast(0, 0), Some(Ok(())));
        assert_eq!((fast(0, i16::MAX), fast(0, 1)), (Some(Ok(())), None), "ERANGE is left to the slow path");
        assert_eq!(engine.semop_ops(id, &[op(1)]), Err(Errno::ERANGE));
        assert_eq!(fast(1, 1), None, "an index out of range");
        assert!(!thread.is_critical());
    }
}
