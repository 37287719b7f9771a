//! Semaphore sets.

use super::{IpcPerm, flag, plain};
use crate::limits::SemLimits;
use crate::{Errno, raw};

/// One operation of a `semop` vector: `struct sembuf`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Sembuf {
    /// Index of the semaphore in its set.
    pub sem_num: u16,
    /// If positive, added; if negative, subtracted once the value permits; if zero, waits until the value is zero.
    pub sem_op: i16,
    /// `IPC_NOWAIT`, `SEM_UNDO`.
    pub sem_flg: i16,
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
    /// Maximum number of sets.
    pub semmni: i32,
    /// Maximum number of semaphores in all sets.
    pub semmns: i32,
    /// Unused by the kernel.
    pub semmnu: i32,
    /// Maximum number of semaphores in a set.
    pub semmsl: i32,
    /// Maximum number of operations in a call.
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

/// semget(2), by the kernel.
pub fn semget(key: i32, nsems: i32, flags: i32) -> Result<i32, Errno> {
    // SAFETY: no pointers.
    unsafe { raw::call(libc::SYS_semget, [key as usize, nsems as usize, flags as usize]) }.map(|n| n as i32)
}

/// semop(2), by the kernel.
///
/// # Safety
/// None beyond the kernel's own checks: `ops` may be any address; a bad one is `EFAULT`. Unsafe because the kernel
/// reads the address.
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
/// `arg` is what the command requires in `union semun`: an address must be one that the program wants written.
#[inline]
pub unsafe fn semctl(id: i32, semnum: i32, cmd: i32, arg: usize) -> Result<i32, Errno> {
    // SAFETY: the kernel checks addresses; it writes only where the program asked for it.
    unsafe { raw::call(libc::SYS_semctl, [id as usize, semnum as usize, cmd as usize, arg]) }
        .map(|n| n as i32)
}

/// All values of a set at one moment (`GETALL`), from the kernel.
pub fn sem_values(id: i32) -> Result<Vec<u16>, Errno> {
    let (count, mut values) = room(id)?;
    // SAFETY: writes one value per semaphore of the set, for which there is room.
    unsafe { semctl(id, 0, flag::GETALL, values.as_mut_ptr() as usize) }?;
    values.truncate(count);
    Ok(values)
}

/// Sets all values at one moment (`SETALL`), in the kernel. `EINVAL` unless there is one value per semaphore.
pub fn set_sem_values(id: i32, new: &[u16]) -> Result<(), Errno> {
    let (count, mut values) = room(id)?;
    if new.len() != count {
        return Err(Errno::EINVAL);
    }
    values[..count].copy_from_slice(new);
    // SAFETY: reads one value per semaphore of the set; that many are there.
    unsafe { semctl(id, 0, flag::SETALL, values.as_ptr() as usize) }.map(drop)
}

/// The number of semaphores of a set, and a buffer with room for the most that a set can have. Until the next call the
/// id may have become that of another set, made under the present limit.
fn room(id: i32) -> Result<(usize, Vec<u16>), Errno> {
    let mut status = SemidDs::default();
    // SAFETY: the address is that of a live structure of the command's type.
    unsafe { semctl(id, 0, flag::IPC_STAT, &raw mut status as usize) }?;
    let count = status.sem_nsems as usize;
    Ok((count, vec![0; count.max(SemLimits::read().per_set as usize)]))
}

plain! { SemidDs Seminfo }

// The layouts are the ABI that programs are compiled for.
const _: () = {
    assert!(size_of::<Sembuf>() == size_of::<libc::sembuf>());
    assert!(size_of::<SemidDs>() == size_of::<libc::semid_ds>());
    assert!(core::mem::offset_of!(SemidDs, sem_nsems) == core::mem::offset_of!(libc::semid_ds, sem_nsems));
    assert!(size_of::<Seminfo>() == size_of::<libc::seminfo>());
};
