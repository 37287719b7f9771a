//! Programs that forbid themselves system calls (seccomp(2)). From then on a system call of this library could kill the
//! program.
//!
//! Existing rows continue to be recorded, as counting needs no system call. New threads, new locks and new callers are
//! not recorded.
//!
//! Filters that were there before ([`permitted_looks`]) close nothing. `unspin` has found out which calls of a poll they permit.

use crate::environment;
use crate::next::{behind, next};
use core::ffi::c_int;
use core::ptr::{from_ref, null_mut};
use unspin_sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};
use unspin_sys::sched::{self, ThreadQueries};
use unspin_sys::{clock, file};
use unspin_wire::environment::LOOKS;
use unspin_wire::filters::FilterCount;
use unspin_wire::looks::{LookKind, Looks, PermittedLooks};

/// Whether a filter is installed, or is being installed right now.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// What is done when a filter is installed: it is counted, so that no report says that a program did not use what came
/// after the filter and was not recorded.
pub struct Notice {
    /// Called before: here system calls are permitted still.
    pub before: fn(),
    /// Called after a filter was installed. Makes no system call.
    pub after: fn(),
}

/// The notice; null until this library's constructor sets it.
static NOTICE: AtomicPtr<Notice> = AtomicPtr::new(null_mut());

/// Sets what is done when a filter is installed.
pub fn set_notice(notice: &'static Notice) {
    // Release: pairs with the Acquire load in `closing`; publishes the static to threads of earlier constructors.
    NOTICE.store(from_ref(notice).cast_mut(), Release);
}

/// Whether this library must not make system calls of its own.
#[inline]
pub fn is_closed() -> bool {
    // Relaxed: a thread that installs a filter sees its own store. Other threads get the filter, if at all, later than
    // the store, through the kernel.
    CLOSED.load(Relaxed)
}

/// The looks that work under the filters that were installed before this image was executed, by a container or a launcher:
/// those that `unspin` found, if there are no more filters now than when it looked. To be called before the program begins.
// Not part of its caller's frame: a program may have little stack.
#[inline(never)]
pub fn permitted_looks() -> Looks {
    let (mut piece, mut filters) = ([0; 1024], FilterCount::default());
    let read = file::read_pieces(c"/proc/self/status", &mut piece, |piece| {
        filters.read(piece);
        true
    });
    let stated = environment::value(LOOKS).and_then(PermittedLooks::parse);
    // Where /proc is not mounted nothing tells.
    PermittedLooks::in_process(stated, read.ok().and_then(|()| filters.number()))
}

/// Whether the waits of an engine may poll: unless `unspin` has found that the calls of a poll are forbidden here, or there are more
/// filters now. A program that runs under an engine permits many other calls of it.
pub fn lets_engine_poll() -> bool {
    environment::value(LOOKS).is_none() || permitted_looks().has(LookKind::Pause)
}

/// Runs `installs`, which installs a filter. This library's own calls stop before the filter takes effect. If
/// `installs` failed, they are allowed again.
pub fn closing<T>(installs: impl FnOnce() -> T, failed: impl FnOnce(&T) -> bool) -> T {
    // Acquire: pairs with the Release store in `set_notice`.
    // SAFETY: the pointer is null, or that of a static that `set_notice` got, which is never written.
    let notice = unsafe { NOTICE.load(Acquire).as_ref() };
    if let Some(notice) = notice {
        (notice.before)();
    }
    // The rate of the counter is measured by a clock that may be a system call.
    clock::prepare();
    // Relaxed (both): see `is_closed`.
    let before = CLOSED.swap(true, Relaxed);
    sched::set_thread_queries(ThreadQueries::Forbidden);
    let result = installs();
    match (failed(&result), notice) {
        (true, _) if !before => {
            CLOSED.store(false, Relaxed);
            sched::set_thread_queries(ThreadQueries::Allowed);
        }
        (false, Some(notice)) => (notice.after)(),
        _ => {}
    }
    result
}

/// Whether a prctl(2) of this option installs a filter.
pub fn is_filter(option: c_int) -> bool {
    option == libc::PR_SET_SECCOMP
}

/// prctl(2). Variadic in C; [`syscall`](crate::syscall) explains why that does not matter.
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    next! { static NEXT = c"prctl"; }
    // The arguments are an int and up to four words.
    let next = behind!(NEXT, unsafe extern "C-unwind" fn(c_int, usize, usize, usize, usize) -> c_int);
    // SAFETY: the caller's promise.
    let call = || unsafe { next(option, a, b, c, d) };
    if is_filter(option) { closing(call, |&code| code < 0) } else { call() }
}
