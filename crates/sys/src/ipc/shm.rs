//! Shared memory segments.

use super::{IpcPerm, plain};
use crate::{Errno, raw};

/// `struct shmid_ds` as glibc has it on x86-64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct ShmidDs {
    /// Owner and permissions.
    pub shm_perm: IpcPerm,
    /// Bytes, as asked for.
    pub shm_segsz: u64,
    /// Last attachment, seconds since the epoch, 0 if none.
    pub shm_atime: i64,
    /// Last detachment.
    pub shm_dtime: i64,
    /// Last change by `shmctl`, or creation.
    pub shm_ctime: i64,
    /// Process that made it.
    pub shm_cpid: i32,
    /// Process of the last `shmat` or `shmdt`.
    pub shm_lpid: i32,
    /// Attachments.
    pub shm_nattch: u64,
    /// Unused.
    pub unused: [u64; 2],
}

/// `struct shminfo`, the answer of `IPC_INFO`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Shminfo {
    /// Most bytes of a segment.
    pub shmmax: u64,
    /// Fewest bytes of a segment.
    pub shmmin: u64,
    /// Most segments.
    pub shmmni: u64,
    /// Most segments of a process; the kernel knows no such limit, and gives `shmmni`.
    pub shmseg: u64,
    /// Most pages of all segments.
    pub shmall: u64,
    /// Unused.
    pub unused: [u64; 4],
}

/// `struct shm_info`, the answer of `SHM_INFO`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct ShmInfo {
    /// Segments.
    pub used_ids: i32,
    /// Unused.
    pub pad: i32,
    /// Pages of all segments.
    pub shm_tot: u64,
    /// Pages in memory.
    pub shm_rss: u64,
    /// Pages swapped out.
    pub shm_swp: u64,
    /// Unused by the kernel.
    pub swap_attempts: u64,
    /// Unused by the kernel.
    pub swap_successes: u64,
}

/// shmget(2), by the kernel.
pub fn shmget(key: i32, size: usize, flags: i32) -> Result<i32, Errno> {
    // SAFETY: no pointers.
    unsafe { raw::call(libc::SYS_shmget, [key as usize, size, flags as usize]) }.map(|n| n as i32)
}

/// shmat(2), by the kernel; the address.
///
/// # Safety
/// With `SHM_REMAP`, what was mapped at `address` is nobody's any more. What the memory holds changes under its
/// users.
pub unsafe fn shmat(id: i32, address: usize, flags: i32) -> Result<usize, Errno> {
    // SAFETY: guaranteed by the caller.
    unsafe { raw::call(libc::SYS_shmat, [id as usize, address, flags as usize]) }
}

/// shmdt(2), by the kernel.
///
/// # Safety
/// Nothing refers to the attachment at `address` any more.
pub unsafe fn shmdt(address: usize) -> Result<i32, Errno> {
    // SAFETY: guaranteed by the caller.
    unsafe { raw::call(libc::SYS_shmdt, [address]) }.map(|n| n as i32)
}

/// shmctl(2), by the kernel.
///
/// # Safety
/// `arg` is what the command wants: an address must be one the program meant to be written.
pub unsafe fn shmctl(id: i32, cmd: i32, arg: usize) -> Result<i32, Errno> {
    // SAFETY: the kernel checks the address; what it writes is where the program said.
    unsafe { raw::call(libc::SYS_shmctl, [id as usize, cmd as usize, arg]) }.map(|n| n as i32)
}

/// What the kernel has under the index of `id`, whoever may look at it (`SHM_STAT_ANY`, Linux 4.17): the full id, and the
/// segment. `EINVAL` if there is none.
pub fn shm_stat_any(id: i32) -> Result<(i32, ShmidDs), Errno> {
    let mut segment = ShmidDs::default();
    // SAFETY: the address is that of a live structure of the command's type.
    let id = unsafe { shmctl(id, super::flag::SHM_STAT_ANY, &raw mut segment as usize) }?;
    Ok((id, segment))
}

/// The kernel's limits of the calling process's IPC namespace (`IPC_INFO`), and the highest index in use.
pub fn shm_limits() -> Result<(i32, Shminfo), Errno> {
    let mut limits = Shminfo::default();
    // SAFETY: as above.
    let highest = unsafe { shmctl(0, super::flag::IPC_INFO, &raw mut limits as usize) }?;
    Ok((highest, limits))
}

/// Removes a segment: at once, or at its last detachment.
pub fn shm_remove(id: i32) -> Result<(), Errno> {
    // SAFETY: the command takes no address. Who has the segment attached keeps it.
    unsafe { shmctl(id, super::flag::IPC_RMID, 0) }.map(drop)
}

plain! { ShmidDs Shminfo ShmInfo }

// The layouts are the ABI that programs are compiled for.
const _: () = {
    assert!(size_of::<ShmidDs>() == size_of::<libc::shmid_ds>());
    assert!(core::mem::offset_of!(ShmidDs, shm_nattch) == core::mem::offset_of!(libc::shmid_ds, shm_nattch));
    // struct shminfo and struct shm_info of bits/shm.h.
    assert!(size_of::<Shminfo>() == 72);
    assert!(size_of::<ShmInfo>() == 48);
};
