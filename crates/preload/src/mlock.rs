//! Locking all memory. The recording's file is sparse, with gigabytes of room; to lock it would be to fill it. So the pages
//! that a program has now are locked one mapping after the other, without the recording.

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
    // With MCL_ONFAULT nothing is brought into memory, and flags that are unknown are for the kernel to refuse.
    let fills = flags & !libc::MCL_FUTURE == libc::MCL_CURRENT;
    match recording::get().filter(|_| fills && !sandbox::is_closed()) {
        // SAFETY: the caller's promise.
        None => unsafe { next(flags) },
        Some(recording) => {
            // SAFETY: as above. What is mapped from now on is locked by the kernel.
            if flags & libc::MCL_FUTURE != 0 && unsafe { next(libc::MCL_FUTURE) } != 0 {
                return -1;
            }
            errno::answer(mem::lock_all_but(&recording.range()).map(|()| 0))
        }
    }
}
