//! Shared memory segments: the next definition answers, until an engine has them.

use crate::next::forward;
use core::convert::identity;
use core::ffi::{c_int, c_void};
use libc::{key_t, shmid_ds, size_t};

forward! { identity:
    /// shmget(2).
    fn shmget(key: key_t, size: size_t, flags: c_int) -> c_int;
    /// shmat(2).
    fn shmat(id: c_int, address: *const c_void, flags: c_int) -> *mut c_void;
    /// shmdt(2).
    fn shmdt(address: *const c_void) -> c_int;
    /// shmctl(2).
    fn shmctl(id: c_int, command: c_int, buffer: *mut shmid_ds) -> c_int;
}
