//! shmat(2) and shmdt(2): the kernel's calls.
//!
//! Ids are the kernel's, and the kernel decides whether and where a segment may be attached. Ids of segments that have
//! no name in this arena are not refused: without an engine too a program may attach any segment whose id it has.

use crate::engine::Engine;
use unspin_sys::{Errno, ipc};

impl Engine {
    /// shmat(2). Returns the address.
    ///
    /// # Safety
    /// With `SHM_REMAP` nothing may use what was mapped at `address` any more. The contents of the memory may change at
    /// any time.
    #[inline]
    pub unsafe fn shmat(&self, id: i32, address: usize, flags: i32) -> Result<usize, Errno> {
        // SAFETY: the caller's promise is the kernel's.
        unsafe { ipc::shmat(id, address, flags) }
    }

    /// shmdt(2). If the segment ends by this call, the next thread that looks for it finds it gone.
    ///
    /// # Safety
    /// Nothing may use the attachment at `address` any more.
    #[inline]
    pub unsafe fn shmdt(&self, address: usize) -> Result<i32, Errno> {
        // SAFETY: the caller's promise is the kernel's.
        unsafe { ipc::shmdt(address) }
    }
}
