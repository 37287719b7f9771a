//! Shared memory segments.

use super::{IpcPerm, plain};
use crate::{Errno, raw};

/// `struct shmid_ds` as glibc has it on x86-64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct ShmidDs {
    /// Owner and permissions.
    pub shm_perm: IpcPerm,
    /// Size in bytes, as requested.
    pub shm_segsz: u64,
    /// Last attachment, seconds since the epoch, 0 if none.
    pub shm_atime: i64,
    /// Last detachment.
    pub shm_dtime: i64,
    /// Last change by `shmctl`, or creation.
    pub shm_ctime: i64,
    /// Process that created it.
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
    /// Maximum bytes of a segment.
    pub shmmax: u64,
    /// Minimum bytes of a segment.
    pub shmmin: u64,
    /// Maximum number of segments.
    pub shmmni: u64,
    /// Maximum number of segments of a process; the kernel has no such limit and returns `shmmni`.
    pub shmseg: u64,
    /// Maximum pages of all segments.
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

/// shmat(2), by the kernel. Returns the address.
///
/// # Safety
/// With `SHM_REMAP`, nothing refers any more to what was mapped at `address`. Other processes may change the memory at
/// any time.
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
/// `arg` is what the command requires: an address must be one that the program wants written.
pub unsafe fn shmctl(id: i32, cmd: i32, arg: usize) -> Result<i32, Errno> {
    // SAFETY: the kernel checks the address; it writes only where the program asked for it.
    unsafe { raw::call(libc::SYS_shmctl, [id as usize, cmd as usize, arg]) }.map(|n| n as i32)
}

/// The kernel's segment under the index of `id`, without a permission check (`SHM_STAT_ANY`, Linux 4.17): its full id
/// and its data. `EINVAL` if there is none.
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

/// Removes a segment: at once, or when the last process detaches it.
pub fn shm_remove(id: i32) -> Result<(), Errno> {
    // SAFETY: the command takes no address. Processes that have the segment attached keep it.
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
