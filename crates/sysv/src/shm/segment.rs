//! The name of a segment: its entry in the arena.

use crate::registry::Perm;
use crate::store::PAGE;
use unspin_sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};
use unspin_sys::ipc::{ShmidDs, flag, shm_stat_any};
use unspin_sys::{Errno, namespace, process};

/// The entry in the arena. Of `perm` only id, key and the mark of removal are used: the kernel has owner and mode.
///
/// Id and birth are immutable once published. The key changes once, to 0, under the registry lock.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(crate) struct SegmentEntry {
    pub perm: Perm,
    size: AtomicU64,
    made: AtomicI64,
    creator: AtomicI32,
    uid: AtomicU32,
    gid: AtomicU32,
    pids: AtomicU64,
    users: AtomicU64,
}

// Relaxed throughout: published by the Release store of the segment's offset in the table.
impl SegmentEntry {
    /// Fills in the entry, not yet published, of a segment that the kernel has just made.
    pub(super) fn init(&self, name: &SegmentName) {
        self.perm.id.store(name.id, Relaxed);
        self.perm.key.store(name.key, Relaxed);
        self.size.store(name.birth.size, Relaxed);
        self.made.store(name.birth.made, Relaxed);
        self.creator.store(name.birth.creator, Relaxed);
        self.uid.store(name.birth.uid, Relaxed);
        self.gid.store(name.birth.gid, Relaxed);
        self.pids.store(name.birth.pids, Relaxed);
        self.users.store(name.birth.users, Relaxed);
    }

    /// A copy, which stays valid after the end of the section in which the segment was found.
    pub(super) fn name(&self) -> SegmentName {
        SegmentName {
            id: self.perm.id.load(Relaxed),
            key: self.perm.key.load(Relaxed),
            birth: SegmentOrigin {
                size: self.size.load(Relaxed),
                made: self.made.load(Relaxed),
                creator: self.creator.load(Relaxed),
                uid: self.uid.load(Relaxed),
                gid: self.gid.load(Relaxed),
                pids: self.pids.load(Relaxed),
                users: self.users.load(Relaxed),
            },
        }
    }
}

/// The properties of a segment that never change. The kernel reuses ids, possibly for other segments if the arena is
/// older than its IPC namespace or the boot; and overwritten memory may contain any id. A kernel segment with other
/// properties is a different segment, and is left alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SegmentOrigin {
    /// Size in bytes, as requested.
    pub size: u64,
    /// Time of creation in seconds since the epoch: the first `shm_ctime`, which can only grow.
    pub made: i64,
    /// Pid of the process that made it.
    pub creator: i32,
    /// The creator's uid.
    pub uid: u32,
    /// The creator's gid.
    pub gid: u32,
    /// The pid namespace of `creator`, by its inode number; 0 if unknown.
    pub pids: u64,
    /// The user namespace of `uid` and `gid`, by its inode number.
    pub users: u64,
}

impl SegmentOrigin {
    /// The properties of a segment that the kernel reports.
    pub fn of(status: &ShmidDs) -> SegmentOrigin {
        SegmentOrigin {
            size: status.shm_segsz,
            made: status.shm_ctime,
            creator: status.shm_cpid,
            uid: status.shm_perm.cuid,
            gid: status.shm_perm.cgid,
            pids: process::pid_namespace(),
            users: namespace::user(),
        }
    }

    /// Whether a segment that the kernel has now may be the one with these properties. Pids and uids have other values
    /// in other namespaces, so there they are not compared. This engine never gives the kernel a key, so a segment with
    /// a key in the kernel belongs to other software, whatever was written into the arena.
    pub fn is_of(&self, status: &ShmidDs) -> bool {
        let creator = self.creator == status.shm_cpid || self.pids != process::pid_namespace();
        let owner = (self.uid, self.gid) == (status.shm_perm.cuid, status.shm_perm.cgid)
            || self.users != namespace::user();
        let unnamed = status.shm_perm.key == flag::IPC_PRIVATE;
        unnamed && self.size == status.shm_segsz && status.shm_ctime >= self.made && creator && owner
    }
}

/// A segment as the arena describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SegmentName {
    /// The kernel's id.
    pub id: i32,
    /// The program's key; 0 if the segment is private, or its key was removed.
    pub key: i32,
    /// The properties that never change.
    pub birth: SegmentOrigin,
}

/// The present state of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KernelState {
    /// It exists.
    Live(ShmidDs),
    /// It was removed, and is still attached (`SHM_DEST`): it has its id, and no key.
    MarkedForRemoval(ShmidDs),
    /// The kernel no longer has it.
    Gone,
}

impl SegmentName {
    /// Asks the kernel. An error only if the kernel does not tell.
    pub fn ask(&self) -> Result<KernelState, Errno> {
        match shm_stat_any(self.id) {
            Ok((id, status)) if self.is(id, &status) => Ok(match status.shm_perm.mode & flag::SHM_DEST {
                0 => KernelState::Live(status),
                _ => KernelState::MarkedForRemoval(status),
            }),
            Ok(_) | Err(Errno::EINVAL | Errno::EIDRM) => Ok(KernelState::Gone),
            Err(e) => Err(e),
        }
    }

    /// Whether the kernel's segment with this id and status is this segment.
    pub fn is(&self, id: i32, status: &ShmidDs) -> bool {
        self.id == id && self.birth.is_of(status)
    }

    /// The kernel's status of the segment, with the key that it has here.
    pub fn translate(&self, status: ShmidDs) -> ShmidDs {
        let mut status = status;
        status.shm_perm.key = if status.shm_perm.mode & flag::SHM_DEST == 0 { self.key } else { 0 };
        status
    }

    /// Whether it was made in the caller's pid and user namespaces. Then all of its properties can be compared.
    pub fn is_other_copy(&self) -> bool {
        (self.birth.pids, self.birth.users) == (process::pid_namespace(), namespace::user())
    }

    /// Size in pages, as `shmall` counts them.
    pub fn pages(&self) -> u64 {
        self.birth.size.div_ceil(PAGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_sys::ipc::IpcPerm;

    /// The kernel translates pids and uids to the namespaces of the caller.
    #[test]
    fn segment_identity_is_equal_across_pid_namespaces() {
        let mut seen = ShmidDs { shm_segsz: 100, shm_ctime: 7, shm_cpid: 1234, ..ShmidDs::default() };
        (seen.shm_perm.cuid, seen.shm_perm.cgid) = (1000, 1000);
        let here = SegmentOrigin::of(&seen);
        assert!(here.is_of(&seen));
        for stranger in [
            SegmentOrigin { creator: 1, ..here },
            SegmentOrigin { uid: 0, ..here },
            SegmentOrigin { gid: 0, ..here },
        ] {
            assert!(!stranger.is_of(&seen));
        }
        assert!(SegmentOrigin { creator: 1, pids: here.pids + 1, ..here }.is_of(&seen));
        assert!(SegmentOrigin { uid: 0, gid: 0, users: here.users + 1, ..here }.is_of(&seen));
        let keyed = ShmidDs { shm_perm: IpcPerm { key: 7, ..seen.shm_perm }, ..seen };
        assert!(!here.is_of(&keyed));
        assert!(!SegmentOrigin { size: 99, pids: here.pids + 1, users: here.users + 1, ..here }.is_of(&seen));
    }
}
