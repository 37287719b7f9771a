//! The kernel's System V calls, and the C structures that they exchange with programs.

use crate::{Errno, raw};

/// One operation of a `semop` vector: `struct sembuf`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Sembuf {
    /// Index of the semaphore in its set.
    pub sem_num: u16,
    /// Added if positive, waited for and taken if negative, waited to be zero if zero.
    pub sem_op: i16,
    /// `IPC_NOWAIT`, `SEM_UNDO`.
    pub sem_flg: i16,
}

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

/// `struct semid_ds` as glibc has it on x86-64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct SemidDs {
    /// Owner and permissions.
    pub sem_perm: IpcPerm,
    /// Last `semop`, seconds since the epoch, 0 if none.
    pub sem_otime: i64,
    /// Unused.
    pub unused1: u64,
    /// Last change by `semctl`, or creation.
    pub sem_ctime: i64,
    /// Unused.
    pub unused2: u64,
    /// Semaphores in the set.
    pub sem_nsems: u64,
    /// Unused.
    pub unused3: [u64; 2],
}

/// `struct seminfo`, the answer of `IPC_INFO` and `SEM_INFO`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Seminfo {
    /// Unused by the kernel.
    pub semmap: i32,
    /// Sets.
    pub semmni: i32,
    /// Semaphores in all sets.
    pub semmns: i32,
    /// Unused by the kernel.
    pub semmnu: i32,
    /// Semaphores in a set.
    pub semmsl: i32,
    /// Operations in a call.
    pub semopm: i32,
    /// Unused by the kernel.
    pub semume: i32,
    /// Size of an undo record; for `SEM_INFO` the number of sets.
    pub semusz: i32,
    /// Largest value.
    pub semvmx: i32,
    /// Largest undo adjustment; for `SEM_INFO` the number of semaphores.
    pub semaem: i32,
}

/// `IPC_CREAT`, `IPC_EXCL`, `IPC_NOWAIT`, `SEM_UNDO` and the commands of `semctl`, under their C names.
pub mod flag {
    pub use libc::{
        GETALL, GETNCNT, GETPID, GETVAL, GETZCNT, IPC_CREAT, IPC_EXCL, IPC_INFO, IPC_NOWAIT, IPC_PRIVATE,
        IPC_RMID, IPC_SET, IPC_STAT, SEM_INFO, SEM_STAT, SEM_STAT_ANY, SEM_UNDO, SETALL, SETVAL,
    };
}

/// Largest value of a semaphore, SEMVMX of `<linux/sem.h>`: not a setting.
pub const SEMVMX: i32 = 32_767;

/// semget(2), by the kernel.
pub fn semget(key: i32, nsems: i32, flags: i32) -> Result<i32, Errno> {
    // SAFETY: no pointers.
    unsafe { raw::call(libc::SYS_semget, [key as usize, nsems as usize, flags as usize]) }.map(|n| n as i32)
}

/// semop(2), by the kernel.
///
/// # Safety
/// None beyond the kernel's own checks: `ops` may be any address, a bad one is `EFAULT`. Unsafe because a good
/// one is read.
#[inline]
pub unsafe fn semop(id: i32, ops: usize, nsops: usize) -> Result<i32, Errno> {
    // SAFETY: the kernel checks `ops`.
    unsafe { raw::call(libc::SYS_semop, [id as usize, ops, nsops]) }.map(|n| n as i32)
}

/// semtimedop(2), by the kernel.
///
/// # Safety
/// As [`semop`], for `timeout` too.
#[inline]
pub unsafe fn semtimedop(id: i32, ops: usize, nsops: usize, timeout: usize) -> Result<i32, Errno> {
    // SAFETY: the kernel checks both addresses.
    unsafe { raw::call(libc::SYS_semtimedop, [id as usize, ops, nsops, timeout]) }.map(|n| n as i32)
}

/// semctl(2), by the kernel.
///
/// # Safety
/// `arg` is what the command wants in `union semun`: an address must be one the program meant to be written.
#[inline]
pub unsafe fn semctl(id: i32, semnum: i32, cmd: i32, arg: usize) -> Result<i32, Errno> {
    // SAFETY: the kernel checks addresses; what it writes is where the program said.
    unsafe { raw::call(libc::SYS_semctl, [id as usize, semnum as usize, cmd as usize, arg]) }
        .map(|n| n as i32)
}

macro_rules! plain {
    ($($name:ty)*) => {$(
        impl $name {
            /// The structure's bytes, as C sees them.
            pub fn as_bytes(&self) -> &[u8] {
                // SAFETY: the structure consists of integers without padding between or behind them (its size is
                // the sum of theirs), so every byte is initialised.
                unsafe { core::slice::from_raw_parts((&raw const *self).cast(), size_of::<Self>()) }
            }

            /// The structure's bytes, to be overwritten: any bytes are a valid value.
            pub fn as_bytes_mut(&mut self) -> &mut [u8] {
                // SAFETY: as above, and every pattern of bits is a valid integer.
                unsafe { core::slice::from_raw_parts_mut((&raw mut *self).cast(), size_of::<Self>()) }
            }
        }
    )*};
}

plain! { SemidDs Seminfo }

// The layouts are the ABI that programs are compiled for.
const _: () = {
    assert!(size_of::<Sembuf>() == size_of::<libc::sembuf>());
    assert!(size_of::<IpcPerm>() == size_of::<libc::ipc_perm>());
    assert!(size_of::<SemidDs>() == size_of::<libc::semid_ds>());
    assert!(core::mem::offset_of!(SemidDs, sem_nsems) == core::mem::offset_of!(libc::semid_ds, sem_nsems));
    assert!(size_of::<Seminfo>() == size_of::<libc::seminfo>());
};
