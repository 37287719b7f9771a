//! Semaphore sets.

use super::SemOp;
use crate::Engine;
use core::time::Duration;
use unspin_sys::Errno;
use unspin_sys::ipc::flag::{
    GETNCNT, GETPID, GETVAL, GETZCNT, IPC_CREAT, IPC_EXCL, IPC_PRIVATE, IPC_RMID, IPC_SET, IPC_STAT, SETVAL,
};
use unspin_sys::ipc::{SEMVMX, SemidDs};

/// A handle of a semaphore set. It may be copied, and dropping it does not remove the set.
///
/// ```
/// use unspin_sysv::typed::{SemOp, SemSet};
/// use unspin_sysv::{Engine, Kind, Options};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None)?;
///
/// // Three free slots, and a count of jobs. Other processes find the set by its key.
/// const KEY: i32 = 0x10B5;
/// let set = SemSet::create_new(&engine, KEY, 2, 0o600)?;
/// set.set_values(&[3, 0])?;
///
/// let worker = std::thread::spawn(move || {
///     let set = SemSet::open(&engine, KEY)?;
/// // Both operations or neither: takes a job and frees its slot. Sleeps until there is a job.
///     set.operate(&[SemOp::take(1, 1), SemOp::post(0, 1)])
/// });
/// set.operate(&[SemOp::take(0, 1), SemOp::post(1, 1)])?;
/// worker.join().unwrap()?;
/// assert_eq!(set.values()?, [3, 0]);
///
/// assert_eq!(set.operate(&[SemOp::take(1, 1).nowait()]), Err(unspin_sysv::Errno::EAGAIN));
/// set.remove()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SemSet {
    engine: Engine,
    id: i32,
}

impl SemSet {
    /// The set with this key, which must exist: `ENOENT` otherwise. semget(2).
    pub fn open(engine: &Engine, key: i32) -> Result<SemSet, Errno> {
        SemSet::get(engine, key, 0, 0)
    }

    /// The set with this key. If there is none, makes it with this many semaphores and these permission bits. `EINVAL`
    /// if the existing one has fewer. semget(2).
    pub fn create(engine: &Engine, key: i32, count: usize, mode: u32) -> Result<SemSet, Errno> {
        SemSet::get(engine, key, count, IPC_CREAT | permissions(mode))
    }

    /// Like [`SemSet::create`], but fails with `EEXIST` if the set exists.
    pub fn create_new(engine: &Engine, key: i32, count: usize, mode: u32) -> Result<SemSet, Errno> {
        SemSet::get(engine, key, count, IPC_CREAT | IPC_EXCL | permissions(mode))
    }

    /// Makes a set without a key. Other processes find it only by its id.
    pub fn private(engine: &Engine, count: usize, mode: u32) -> Result<SemSet, Errno> {
        SemSet::get(engine, IPC_PRIVATE, count, permissions(mode))
    }

    /// The set with this id. Whether it exists is not checked yet.
    pub fn from_id(engine: &Engine, id: i32) -> SemSet {
        SemSet { engine: *engine, id }
    }

    fn get(engine: &Engine, key: i32, count: usize, flags: i32) -> Result<SemSet, Errno> {
        let count = i32::try_from(count).map_err(|_| Errno::EINVAL)?;
        Ok(SemSet { engine: *engine, id: engine.semget(key, count, flags)? })
    }

    /// The set's id, by which other processes find it.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Performs all operations atomically. If they cannot proceed, sleeps until they can. semop(2). Each operation sees
    /// the effects of the ones before it. A signal handler that runs meanwhile ends the call with `EINTR`; removal of
    /// the set ends it with `EIDRM`.
    #[inline]
    pub fn operate(&self, ops: &[SemOp]) -> Result<(), Errno> {
        self.engine.semop_ops(self.id, SemOp::as_sembufs(ops))
    }

    /// Like [`SemSet::operate`], but fails with `EAGAIN` after this time. semtimedop(2).
    pub fn operate_within(&self, ops: &[SemOp], time: Duration) -> Result<(), Errno> {
        // struct timespec: seconds, nanoseconds.
        let time = [i64::try_from(time.as_secs()).unwrap_or(i64::MAX), i64::from(time.subsec_nanos())];
        let (ops, time) = (SemOp::as_sembufs(ops), time.as_ptr() as usize);
        // SAFETY: a live slice of operations and its length, and a live time; no thread writes either.
        unsafe { self.engine.semtimedop(self.id, ops.as_ptr() as usize, ops.len(), time) }.map(drop)
    }

    /// Value of a semaphore: `GETVAL`. `EINVAL` if the set has no semaphore with this index.
    pub fn value(&self, sem: u16) -> Result<u16, Errno> {
        self.plain(sem, GETVAL, 0).map(|value| value as u16)
    }

    /// Sets the value of a semaphore: `SETVAL`. Adjustments of processes for it (`SEM_UNDO`) are dropped. Waiters that
    /// can now proceed do so. `ERANGE` above 32767.
    pub fn set_value(&self, sem: u16, value: u16) -> Result<(), Errno> {
        self.plain(sem, SETVAL, usize::from(value)).map(drop)
    }

    /// All values, read at one moment: `GETALL`.
    pub fn values(&self) -> Result<Vec<u16>, Errno> {
        self.engine.sem_values(self.id)
    }

    /// Sets all values at one moment: `SETALL`. `EINVAL` unless there is one value for each semaphore; otherwise like
    /// [`SemSet::set_value`].
    pub fn set_values(&self, values: &[u16]) -> Result<(), Errno> {
        self.engine.set_sem_values(self.id, values)
    }

    /// Pid of the process that performed the last operation on a semaphore; 0 if none: `GETPID`.
    pub fn last_pid(&self, sem: u16) -> Result<i32, Errno> {
        self.plain(sem, GETPID, 0)
    }

    /// Number of threads that wait for a semaphore to grow: `GETNCNT`.
    pub fn takers(&self, sem: u16) -> Result<usize, Errno> {
        self.plain(sem, GETNCNT, 0).map(|n| n as usize)
    }

    /// Number of threads that wait for a semaphore to become zero: `GETZCNT`.
    pub fn zero_waiters(&self, sem: u16) -> Result<usize, Errno> {
        self.plain(sem, GETZCNT, 0).map(|n| n as usize)
    }

    /// Number of semaphores in the set.
    pub fn count(&self) -> Result<usize, Errno> {
        self.status().map(|status| status.sem_nsems as usize)
    }

    /// Owner, permissions, times, number of semaphores: `IPC_STAT`. semctl(2).
    pub fn status(&self) -> Result<SemidDs, Errno> {
        let mut status = SemidDs::default();
        // SAFETY: a live structure of the type that the command writes.
        unsafe { self.engine.semctl(self.id, 0, IPC_STAT, &raw mut status as usize) }?;
        Ok(status)
    }

    /// Sets owner and permission bits from `status`, and nothing else: `IPC_SET`.
    pub fn set_status(&self, status: &SemidDs) -> Result<(), Errno> {
        // SAFETY: a live structure of the type that the command reads.
        unsafe { self.engine.semctl(self.id, 0, IPC_SET, &raw const *status as usize) }.map(drop)
    }

    /// Removes the set, for all processes: `IPC_RMID`. Waiting calls fail with `EIDRM`.
    pub fn remove(self) -> Result<(), Errno> {
        self.plain(0, IPC_RMID, 0).map(drop)
    }

    fn plain(&self, sem: u16, command: i32, value: usize) -> Result<i32, Errno> {
        // SAFETY: commands with a number or no argument, so no address is used.
        unsafe { self.engine.semctl(self.id, i32::from(sem), command, value) }
    }
}

/// The nine permission bits of a mode.
pub(super) fn permissions(mode: u32) -> i32 {
    (mode & 0o777) as i32
}

const _: () = assert!(SEMVMX <= u16::MAX as i32, "a value fits");
