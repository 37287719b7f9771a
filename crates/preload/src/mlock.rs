//! Locking all memory. The recording is a sparse file of gigabytes; locking it would fill it with pages. So the memory
//! that the program has now is locked mapping by mapping, without the recording.

use crate::next::{behind, next};
use crate::watch::recording;
use crate::{errno, sandbox};
use core::ffi::c_int;
use unspin_sys::mem;

/// mlockall(2).
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlockall(flags: c_int) -> c_int {
    next! { static NEXT = c"mlockall"; }
    let next = behind!(NEXT, unsafe extern "C-unwind" fn(c_int) -> c_int);
    // MCL_ONFAULT brings nothing into memory, and the kernel refuses unknown flags: both go to the next definition.
    let fills = flags & !libc::MCL_FUTURE == libc::MCL_CURRENT;
    match recording::get().filter(|_| fills && !sandbox::is_closed()) {
        // SAFETY: the caller's promise.
        None => unsafe { next(flags) },
        Some(recording) => {
            // SAFETY: as above. The kernel locks what is mapped from now on.
            if flags & libc::MCL_FUTURE != 0 && unsafe { next(libc::MCL_FUTURE) } != 0 {
                return -1;
            }
            errno::answer(mem::lock_all_but(&recording.range()).map(|()| 0))
        }
    }
}
