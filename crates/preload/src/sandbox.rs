//! Programs that forbid themselves system calls (seccomp(2)): from then on one of ours could be their death.
//!
//! What is recorded already goes on, since counting takes no system call; new threads, new locks and new callers do not.

use crate::next::{behind, next};
use core::ffi::c_int;
use unspin_sync::atomic::{AtomicBool, Ordering::Relaxed};
use unspin_sys::file;
use unspin_sys::sched::{self, Questions};

/// Whether a filter has been, or is just being, installed.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether system calls that the program does not make itself are to be left out.
#[inline]
pub fn is_closed() -> bool {
    // Relaxed: a thread that installs a filter sees its own store; others get the filter later than the store, through the
    // kernel, if at all.
    CLOSED.load(Relaxed)
}

/// Whether a filter was installed before this image was executed: by a container, or by a launcher. Nothing
/// tells which calls it forbids.
pub fn was_inherited() -> bool {
    let mut buffer = [0; 4096];
    let text = file::read_small(c"/proc/self/status", &mut buffer).unwrap_or_default();
    text.split(|&byte| byte == b'\n').any(|line| line.starts_with(b"Seccomp:") && !line.ends_with(b"\t0"))
}

/// Runs what installs a filter, with our own calls stopped before it takes effect. One that fails has installed none.
pub fn closing<T>(installs: impl FnOnce() -> T, failed: impl FnOnce(&T) -> bool) -> T {
    // Relaxed (both): see `is_closed`.
    let before = CLOSED.swap(true, Relaxed);
    sched::set_questions(Questions::Forbidden);
    let result = installs();
    if failed(&result) && !before {
        CLOSED.store(false, Relaxed);
        sched::set_questions(Questions::Allowed);
    }
    result
}

/// Whether a prctl(2) of this option installs a filter.
pub fn is_filter(option: c_int) -> bool {
    option == libc::PR_SET_SECCOMP
}

/// prctl(2). Variadic in C; see [`syscall`](crate::syscall) for why that does not matter.
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    next! { static NEXT = c"prctl"; }
    // An int and up to four words.
    let next = behind!(NEXT, unsafe extern "C-unwind" fn(c_int, usize, usize, usize, usize) -> c_int);
    // SAFETY: the caller's promise.
    let call = || unsafe { next(option, a, b, c, d) };
    if is_filter(option) { closing(call, |&code| code < 0) } else { call() }
}
