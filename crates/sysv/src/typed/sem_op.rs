//! One operation of a vector.

use unspin_sys::ipc::{Sembuf, flag};

/// An operation on one semaphore of a set: `struct sembuf` of semop(2).
///
/// ```
/// use unspin_sysv::typed::{SemOp, SemSet};
/// use unspin_sysv::{Engine, Errno, Kind, Options};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None)?;
/// // A lock that survives its holder: 1 means free, and a holder that dies gives the lock back.
/// const ACQUIRE: SemOp = SemOp::take(0, 1).undo();
/// const RELEASE: SemOp = SemOp::post(0, 1).undo();
///
/// let lock = SemSet::private(&engine, 1, 0o600)?;
/// lock.set_value(0, 1)?;
/// lock.operate(&[ACQUIRE])?;
/// assert_eq!(lock.operate(&[ACQUIRE.nowait()]), Err(Errno::EAGAIN));
/// lock.operate(&[RELEASE])?;
/// # lock.remove()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct SemOp(Sembuf);

impl SemOp {
    /// Adds `n` to semaphore `sem`. The call fails with `ERANGE` if that exceeds 32767.
    ///
    /// # Panics
    /// If `n` is not above zero: that would be another operation.
    pub const fn post(sem: u16, n: i16) -> SemOp {
        assert!(n > 0, "a post adds");
        SemOp::new(sem, n)
    }

    /// Waits until semaphore `sem` is at least `n`, and subtracts `n`.
    ///
    /// # Panics
    /// If `n` is not above zero: that would be another operation.
    pub const fn take(sem: u16, n: i16) -> SemOp {
        assert!(n > 0, "what is taken is there");
        SemOp::new(sem, -n)
    }

    /// Waits until semaphore `sem` is zero.
    pub const fn wait_for_zero(sem: u16) -> SemOp {
        SemOp::new(sem, 0)
    }

    const fn new(sem: u16, change: i16) -> SemOp {
        SemOp(Sembuf { sem_num: sem, sem_op: change, sem_flg: 0 })
    }

    /// `IPC_NOWAIT`: the call fails with `EAGAIN` if this operation would have to wait.
    pub const fn nowait(self) -> SemOp {
        self.with(flag::IPC_NOWAIT)
    }

    /// `SEM_UNDO`: undone when the process ends, in whatever way.
    pub const fn undo(self) -> SemOp {
        self.with(flag::SEM_UNDO)
    }

    const fn with(mut self, flags: i32) -> SemOp {
        self.0.sem_flg |= flags as i16;
        self
    }

    /// The operations in the form that the engine takes.
    pub(super) fn as_sembufs(ops: &[SemOp]) -> &[Sembuf] {
        // SAFETY: `SemOp` is a `Sembuf` and nothing else (`repr(transparent)`), so a slice of one is a valid slice of
        // the other, at the same address and with the same lifetime.
        unsafe { core::slice::from_raw_parts(ops.as_ptr().cast(), ops.len()) }
    }
}
