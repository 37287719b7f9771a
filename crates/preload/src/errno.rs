//! The calling thread's `errno`, and the conversion of results to what a C function returns.

use core::ffi::c_int;
use unspin_sys::Errno;

/// The value, or -1 with `errno` set. A success does not change `errno`.
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
    // SAFETY: libc returns the address of the calling thread's own errno.
    unsafe { *libc::__errno_location() = errno.0 };
}
