//! How a C function answers.

use core::ffi::c_int;
use unspin_sys::Errno;

/// The value, or -1 with `errno` set; a success leaves `errno` alone.
#[inline(always)]
pub fn answer(result: Result<i32, Errno>) -> c_int {
    match result {
        Ok(value) => value,
        Err(errno) => {
            set(errno);
            -1
        }
    }
}

/// The calling thread's `errno`.
pub fn get() -> Errno {
    // SAFETY: as in `set`.
    Errno(unsafe { *libc::__errno_location() })
}

/// Sets the calling thread's `errno`.
#[inline(never)]
pub fn set(errno: Errno) {
    // SAFETY: libc answers with the address of the calling thread's own errno.
    unsafe { *libc::__errno_location() = errno.0 };
}
