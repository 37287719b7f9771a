//! Conversion of results to what a C function returns.

use crate::{cancel, start};
use core::ffi::c_int;
use unspin_sys::Errno;

/// The value, or -1 with `errno` set. A success does not change `errno`.
#[inline(always)]
pub fn answer(result: Result<i32, Errno>) -> c_int {
    match result {
        Ok(value) => value,
        Err(errno) => refuse(errno),
    }
}

/// Sets `errno` and returns -1, for a call that the engine has refused. A refusal because of a damaged arena is
/// explained once. Not inlined: a hook that ends with this call has nothing to drop, so the call becomes a jump.
#[cold]
#[inline(never)]
pub extern "C-unwind" fn refuse(errno: Errno) -> c_int {
    if errno == Errno::ENOSYS {
        cancel::with_cancel_deferred(start::say_if_damaged);
    }
    set(errno);
    -1
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
