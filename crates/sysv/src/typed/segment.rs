//! Shared memory segments.

use super::attachment::{Attachment, ReadOnlyAttachment};
use super::sem_set::permissions;
use crate::Engine;
use unspin_sys::Errno;
use unspin_sys::ipc::ShmidDs;
use unspin_sys::ipc::flag::{
    IPC_CREAT, IPC_EXCL, IPC_PRIVATE, IPC_RMID, IPC_SET, IPC_STAT, SHM_LOCK, SHM_RDONLY, SHM_UNLOCK,
};

/// A handle of a shared memory segment. It may be copied, and dropping it does not remove the segment. Its memory is
/// accessible while it is [attached](Segment::attach).
///
/// ```
/// use std::sync::atomic::Ordering::SeqCst;
/// use unspin_sysv::typed::Segment;
/// use unspin_sysv::{Engine, Kind, Options};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None)?;
///
/// let segment = Segment::private(&engine, 100, 0o600)?;
/// let here = segment.attach()?;
/// // It ends with its last attachment, however the processes end.
/// segment.remove()?;
///
/// // 100 bytes hold twelve words of eight; a new segment is zeroed.
/// assert_eq!((here.len(), here.as_atomics().len()), (100, 12));
/// here.as_atomics()[3].fetch_add(7, SeqCst);
///
/// // The same memory at another address.
/// let there = segment.attach_read_only()?;
/// assert_eq!(there.load(3), Some(7));
/// assert_eq!(segment.status()?.shm_nattch, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    engine: Engine,
    id: i32,
}

impl Segment {
    /// The segment with this key, which must exist: `ENOENT` otherwise. shmget(2).
    pub fn open(engine: &Engine, key: i32) -> Result<Segment, Errno> {
        Segment::get(engine, key, 0, 0)
    }

    /// The segment with this key. If there is none, makes it with this size in bytes and these permission bits.
    /// `EINVAL` if the existing one is smaller. shmget(2).
    pub fn create(engine: &Engine, key: i32, bytes: usize, mode: u32) -> Result<Segment, Errno> {
        Segment::get(engine, key, bytes, IPC_CREAT | permissions(mode))
    }

    /// Like [`Segment::create`], but fails with `EEXIST` if the segment exists.
    pub fn create_new(engine: &Engine, key: i32, bytes: usize, mode: u32) -> Result<Segment, Errno> {
        Segment::get(engine, key, bytes, IPC_CREAT | IPC_EXCL | permissions(mode))
    }

    /// Makes a segment without a key. Other processes find it only by its id.
    pub fn private(engine: &Engine, bytes: usize, mode: u32) -> Result<Segment, Errno> {
        Segment::get(engine, IPC_PRIVATE, bytes, permissions(mode))
    }

    /// The segment with this id. Whether it exists is not checked yet.
    pub fn from_id(engine: &Engine, id: i32) -> Segment {
        Segment { engine: *engine, id }
    }

    fn get(engine: &Engine, key: i32, bytes: usize, flags: i32) -> Result<Segment, Errno> {
        Ok(Segment { engine: *engine, id: engine.shmget(key, bytes, flags)? })
    }

    /// The segment's id, by which other processes find it.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Maps the memory at a free address, for reading and writing. shmat(2).
    pub fn attach(&self) -> Result<Attachment, Errno> {
        let (address, len) = self.map(0)?;
        // SAFETY: `map` has just mapped this many bytes there, for reading and writing, and nothing else uses the
        // mapping.
        Ok(unsafe { Attachment::new(self.engine, address, len) })
    }

    /// Maps the memory at a free address, for reading only: `SHM_RDONLY`, for which read permission suffices.
    pub fn attach_read_only(&self) -> Result<ReadOnlyAttachment, Errno> {
        let (address, len) = self.map(SHM_RDONLY)?;
        // SAFETY: as above, for reading only.
        Ok(unsafe { ReadOnlyAttachment::new(self.engine, address, len) })
    }

    fn map(&self, flags: i32) -> Result<(usize, usize), Errno> {
        // SAFETY: the kernel chooses a free address, so no existing mapping is replaced.
        let address = unsafe { self.engine.shmat(self.id, 0, flags) }?;
        // The size is asked for after attaching: while the segment is attached it exists, and keeps its id.
        let len = self.status().map(|status| status.shm_segsz as usize);
        if len.is_err() {
            // SAFETY: no other code has learned the address.
            let _ = unsafe { self.engine.shmdt(address) };
        }
        len.map(|len| (address, len))
    }

    /// Owner, permissions, times, size, number of attachments: `IPC_STAT`. shmctl(2).
    pub fn status(&self) -> Result<ShmidDs, Errno> {
        let mut status = ShmidDs::default();
        // SAFETY: a live structure of the type that the command writes.
        unsafe { self.engine.shmctl(self.id, IPC_STAT, &raw mut status as usize) }?;
        Ok(status)
    }

    /// Sets owner and permission bits from `status`, and nothing else: `IPC_SET`.
    pub fn set_status(&self, status: &ShmidDs) -> Result<(), Errno> {
        // SAFETY: a live structure of the type that the command reads.
        unsafe { self.engine.shmctl(self.id, IPC_SET, &raw const *status as usize) }.map(drop)
    }

    /// Keeps the memory from being swapped out: `SHM_LOCK`.
    pub fn lock_in_memory(&self) -> Result<(), Errno> {
        self.plain(SHM_LOCK)
    }

    /// Lets the memory be swapped out again: `SHM_UNLOCK`.
    pub fn unlock_from_memory(&self) -> Result<(), Errno> {
        self.plain(SHM_UNLOCK)
    }

    /// Removes the segment: `IPC_RMID`. From now on it is not found by its key. Its memory is freed with the last
    /// attachment; until then Linux lets processes that know the id attach it.
    pub fn remove(self) -> Result<(), Errno> {
        self.plain(IPC_RMID)
    }

    fn plain(&self, command: i32) -> Result<(), Errno> {
        // SAFETY: commands that take no address.
        unsafe { self.engine.shmctl(self.id, command, 0) }.map(drop)
    }
}
