//! Semaphore sets.

use super::SemOp;
use crate::Engine;
use core::time::Duration;
use unspin_sys::Errno;
use unspin_sys::ipc::flag::{
    GETNCNT, GETPID, GETVAL, GETZCNT, IPC_CREAT, IPC_EXCL, IPC_PRIVATE, IPC_RMID, IPC_SET, IPC_STAT, SETVAL,
};
use unspin_sys::ipc::{SEMVMX, SemidDs};

/// A set of semaphores. A handle: copied freely, and dropping it removes nothing.
///
/// ```
/// use unspin_sysv::typed::{SemOp, SemSet};
/// use unspin_sysv::{Engine, Kind, Options};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None)?;
///
/// // Three slots that are free, and a count of jobs. The key is what other processes call the set by.
/// const KEY: i32 = 0x10B5;
/// let set = SemSet::create_new(&engine, KEY, 2, 0o600)?;
/// set.set_values(&[3, 0])?;
///
/// let worker = std::thread::spawn(move || {
///     let set = SemSet::open(&engine, KEY)?;
///     // Both or neither: a job, and the slot that it leaves. Asleep until there is one.
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
    /// The set of a key, which must exist: `ENOENT` otherwise. semget(2).
    pub fn open(engine: &Engine, key: i32) -> Result<SemSet, Errno> {
        SemSet::get(engine, key, 0, 0)
    }

    /// The set of a key, made with so many semaphores and permission bits if there is none. `EINVAL` if one exists that
    /// has fewer.
    pub fn create(engine: &Engine, key: i32, count: usize, mode: u32) -> Result<SemSet, Errno> {
        SemSet::get(engine, key, count, IPC_CREAT | permissions(mode))
    }

    /// As [`SemSet::create`], and `EEXIST` if there is one.
    pub fn create_new(engine: &Engine, key: i32, count: usize, mode: u32) -> Result<SemSet, Errno> {
        SemSet::get(engine, key, count, IPC_CREAT | IPC_EXCL | permissions(mode))
    }

    /// A set that no key finds, only its id.
    pub fn private(engine: &Engine, count: usize, mode: u32) -> Result<SemSet, Errno> {
        SemSet::get(engine, IPC_PRIVATE, count, permissions(mode))
    }

    /// The set of an id that somebody told us. Nothing is looked up yet.
    pub fn from_id(engine: &Engine, id: i32) -> SemSet {
        SemSet { engine: *engine, id }
    }

    fn get(engine: &Engine, key: i32, count: usize, flags: i32) -> Result<SemSet, Errno> {
        let count = i32::try_from(count).map_err(|_| Errno::EINVAL)?;
        Ok(SemSet { engine: *engine, id: engine.semget(key, count, flags)? })
    }

    /// Its id, by which other processes find it.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Performs all operations at once, or sleeps until it can. semop(2). Every operation sees what the ones before it did.
    /// A signal handler that runs meanwhile ends the call with `EINTR`; removal, with `EIDRM`.
    #[inline]
    pub fn operate(&self, ops: &[SemOp]) -> Result<(), Errno> {
        self.engine.semop_ops(self.id, SemOp::as_sembufs(ops))
    }

    /// As [`SemSet::operate`], for no longer than this: then `EAGAIN`. semtimedop(2).
    pub fn operate_within(&self, ops: &[SemOp], time: Duration) -> Result<(), Errno> {
        // struct timespec: seconds, nanoseconds.
        let time = [i64::try_from(time.as_secs()).unwrap_or(i64::MAX), i64::from(time.subsec_nanos())];
        let (ops, time) = (SemOp::as_sembufs(ops), time.as_ptr() as usize);
        // SAFETY: a live slice of operations and its length, and a live time; nobody writes either.
        unsafe { self.engine.semtimedop(self.id, ops.as_ptr() as usize, ops.len(), time) }.map(drop)
    }

    /// Value of a semaphore: `GETVAL`. `EINVAL` if the set has none of this number.
    pub fn value(&self, sem: u16) -> Result<u16, Errno> {
        self.plain(sem, GETVAL, 0).map(|value| value as u16)
    }

    /// Sets a semaphore: `SETVAL`. Adjustments that processes have for it (`SEM_UNDO`) are dropped, and who can go on goes
    /// on. `ERANGE` above 32767.
    pub fn set_value(&self, sem: u16, value: u16) -> Result<(), Errno> {
        self.plain(sem, SETVAL, usize::from(value)).map(drop)
    }

    /// All values, as they were at one moment: `GETALL`.
    pub fn values(&self) -> Result<Vec<u16>, Errno> {
        self.engine.sem_values(self.id)
    }

    /// Sets all values at one moment: `SETALL`. `EINVAL` unless there is one for each semaphore; otherwise as
    /// [`SemSet::set_value`].
    pub fn set_values(&self, values: &[u16]) -> Result<(), Errno> {
        self.engine.set_sem_values(self.id, values)
    }

    /// Process that changed, or tested, a semaphore last; 0 if none: `GETPID`.
    pub fn last_pid(&self, sem: u16) -> Result<i32, Errno> {
        self.plain(sem, GETPID, 0)
    }

    /// How many wait until a semaphore is greater: `GETNCNT`.
    pub fn takers(&self, sem: u16) -> Result<usize, Errno> {
        self.plain(sem, GETNCNT, 0).map(|n| n as usize)
    }

    /// How many wait until a semaphore is zero: `GETZCNT`.
    pub fn zero_waiters(&self, sem: u16) -> Result<usize, Errno> {
        self.plain(sem, GETZCNT, 0).map(|n| n as usize)
    }

    /// Semaphores in the set.
    pub fn count(&self) -> Result<usize, Errno> {
        self.status().map(|status| status.sem_nsems as usize)
    }

    /// Owner, permissions, times: `IPC_STAT`.
    pub fn status(&self) -> Result<SemidDs, Errno> {
        let mut status = SemidDs::default();
        // SAFETY: the structure that the command writes.
        unsafe { self.engine.semctl(self.id, 0, IPC_STAT, &raw mut status as usize) }?;
        Ok(status)
    }

    /// Sets owner and permission bits as they are in `status`, and nothing else of it: `IPC_SET`.
    pub fn set_status(&self, status: &SemidDs) -> Result<(), Errno> {
        // SAFETY: the structure that the command reads.
        unsafe { self.engine.semctl(self.id, 0, IPC_SET, &raw const *status as usize) }.map(drop)
    }

    /// Removes the set for everybody: `IPC_RMID`. Who sleeps gets `EIDRM`.
    pub fn remove(self) -> Result<(), Errno> {
        self.plain(0, IPC_RMID, 0).map(drop)
    }

    fn plain(&self, sem: u16, command: i32, value: usize) -> Result<i32, Errno> {
        // SAFETY: commands whose argument is missing or a number: no address.
        unsafe { self.engine.semctl(self.id, i32::from(sem), command, value) }
    }
}

/// The nine bits of a mode.
pub(super) fn permissions(mode: u32) -> i32 {
    (mode & 0o777) as i32
}

const _: () = assert!(SEMVMX <= u16::MAX as i32, "a value fits");
