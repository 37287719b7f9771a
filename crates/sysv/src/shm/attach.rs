//! shmat(2) and shmdt(2): the kernel's.
//!
//! An id is the kernel's, and whether it may be attached, and where, is for the kernel to say. Ids that are not of this
//! arena are not refused: without an engine a program may attach whatever it was told the id of, too.

use crate::engine::Engine;
use unspin_sys::{Errno, ipc};

impl Engine {
    /// shmat(2); the address.
    ///
    /// # Safety
    /// With `SHM_REMAP`, what was mapped at `address` is nobody's any more. What the memory holds changes under its
    /// users.
    #[inline]
    pub unsafe fn shmat(&self, id: i32, address: usize, flags: i32) -> Result<usize, Errno> {
        // SAFETY: the caller's promise is the kernel's.
        unsafe { ipc::shmat(id, address, flags) }
    }

    /// shmdt(2). A segment that ends by it is found gone by whoever looks for it next.
    ///
    /// # Safety
    /// Nothing refers to the attachment at `address` any more.
    #[inline]
    pub unsafe fn shmdt(&self, address: usize) -> Result<i32, Errno> {
        // SAFETY: the caller's promise is the kernel's.
        unsafe { ipc::shmdt(address) }
    }
}
