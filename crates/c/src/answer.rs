//! Return values of the C functions.

use core::ffi::c_int;
use unspin_sys::Errno;

/// The value, or -1 with `errno` set. Success leaves `errno` unchanged.
#[inline(always)]
pub fn answer(result: Result<i32, Errno>) -> c_int {
    result.unwrap_or_else(|errno| {
        set_errno(errno);
        -1
    })
}

/// Sets the calling thread's `errno`.
#[cold]
#[inline(never)]
pub fn set_errno(errno: Errno) {
    // SAFETY: libc returns the address of the calling thread's own errno.
    unsafe { *libc::__errno_location() = errno.0 };
}
