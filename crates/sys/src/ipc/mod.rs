//! The kernel's System V calls, and the C structures that they exchange with programs.

mod msg;
mod sem;
mod shm;

pub use msg::{Msginfo, MsqidDs, msgctl, msgget, msgrcv, msgsnd};
pub use sem::{Sembuf, SemidDs, Seminfo, sem_values, semctl, semget, semop, semtimedop, set_sem_values};
pub use shm::{
    ShmInfo, ShmidDs, Shminfo, shm_limits, shm_remove, shm_stat_any, shmat, shmctl, shmdt, shmget,
};

/// `struct ipc_perm` as glibc has it on x86-64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct IpcPerm {
    /// Key, 0 for a private or removed object.
    pub key: i32,
    /// Owner.
    pub uid: u32,
    /// Owner's group.
    pub gid: u32,
    /// Creator.
    pub cuid: u32,
    /// Creator's group.
    pub cgid: u32,
    /// Permission bits.
    pub mode: u32,
    /// Sequence number.
    pub seq: u16,
    /// Unused.
    pub pad: [u16; 3],
    /// Unused.
    pub unused: [u64; 2],
}

const _: () = assert!(size_of::<IpcPerm>() == size_of::<libc::ipc_perm>());

/// Flags and commands of the calls, under their C names.
pub mod flag {
    pub use libc::{
        GETALL, GETNCNT, GETPID, GETVAL, GETZCNT, IPC_CREAT, IPC_EXCL, IPC_INFO, IPC_NOWAIT, IPC_PRIVATE,
        IPC_RMID, IPC_SET, IPC_STAT, MSG_COPY, MSG_EXCEPT, MSG_INFO, MSG_NOERROR, MSG_STAT, SEM_INFO,
        SEM_STAT, SEM_STAT_ANY, SEM_UNDO, SETALL, SETVAL, SHM_EXEC, SHM_HUGETLB, SHM_LOCK, SHM_NORESERVE,
        SHM_RDONLY, SHM_REMAP, SHM_RND, SHM_UNLOCK,
    };

    /// `MSG_STAT_ANY` of `<linux/msg.h>`: as `MSG_STAT`, without asking for permission.
    pub const MSG_STAT_ANY: i32 = 13;
    /// `SHM_STAT` of `<linux/shm.h>`: `IPC_STAT` by index.
    pub const SHM_STAT: i32 = 13;
    /// `SHM_INFO` of `<linux/shm.h>`: resources used by all segments.
    pub const SHM_INFO: i32 = 14;
    /// `SHM_STAT_ANY` of `<linux/shm.h>`: as `SHM_STAT`, without asking for permission.
    pub const SHM_STAT_ANY: i32 = 15;
    /// `SHM_DEST` of `<linux/shm.h>`, in a mode: removed at the last detach.
    pub const SHM_DEST: u32 = 0o1000;
    /// `SHM_LOCKED` of `<linux/shm.h>`, in a mode: not swapped out.
    pub const SHM_LOCKED: u32 = 0o2000;
}

/// Largest value of a semaphore, SEMVMX of `<linux/sem.h>`: a constant, not a setting.
pub const SEMVMX: i32 = 32_767;
/// Largest `SEM_UNDO` adjustment, SEMAEM of `<linux/sem.h>`; the smallest is one less than its negative.
pub const SEMAEM: i32 = SEMVMX;

/// For structures of integers without padding, or with explicit padding fields.
macro_rules! plain {
    ($($name:ty)*) => {$(
        impl $name {
            /// The structure's bytes, in C layout.
            pub fn as_bytes(&self) -> &[u8] {
                // SAFETY: the structure consists of integers without padding between or behind them (its size is
                // the sum of theirs), so every byte is initialised.
                unsafe { core::slice::from_raw_parts((&raw const *self).cast(), size_of::<Self>()) }
            }

            /// The structure's bytes, writable: any bytes are a valid value.
            pub fn as_bytes_mut(&mut self) -> &mut [u8] {
                // SAFETY: as above, and every pattern of bits is a valid integer.
                unsafe { core::slice::from_raw_parts_mut((&raw mut *self).cast(), size_of::<Self>()) }
            }
        }
    )*};
}
use plain;
