//! Calls by which a thread moves to another IPC namespace, stops sharing its SEM_UNDO adjustments, or makes a child
//! that begins in another IPC namespace. The next definition makes the call. After a success the engine does what the
//! kernel would do, and the thread or the child uses the engine of its new namespace.

use crate::next::{behind, c_name, next};
use crate::plan::{self, Handlers};
use crate::start::{self, Opening};
use crate::{creds, errno};
use core::ffi::{c_int, c_long, c_void};
use unspin_sys::signal::{Mask, set_mask};

/// Makes a call of unshare(2) or setns(2) with these flags. For setns the flags may be incomplete, as its caller may
/// pass 0.
pub fn moving(flags: c_int, call: impl FnOnce() -> c_long) -> c_long {
    if plan::handlers() == Handlers::Direct {
        return call();
    }
    // A handler that runs between the kernel's change and ours would find the objects of the old namespace.
    let mask = set_mask(Mask::ALL);
    let answer = call();
    if answer == 0 {
        let error = errno::get();
        // A new IPC namespace also gives the thread new adjustments (`ksys_unshare` in kernel/fork.c, `commit_nsset` in
        // kernel/nsproxy.c).
        if flags & (libc::CLONE_SYSVSEM | libc::CLONE_NEWIPC) != 0
            && let Some(engine) = start::find_open_engine()
        {
            engine.unshare_undo();
        }
        change(flags);
        errno::set(error);
    }
    set_mask(mask);
    answer
}

/// Uses the engine of the new namespace. Signals are blocked.
fn change(flags: c_int) {
    // In another user namespace the thread has other ids.
    creds::forget_if_changed(0);
    start::change_namespace(match flags & libc::CLONE_NEWUSER {
        0 => Opening::AtOnce,
        _ => Opening::AtFirstCall,
    });
}

/// Whether a child made by clone(2) with these flags has another IPC namespace than its parent, and not its parent's
/// memory, in which the engine's state is the parent's.
pub fn is_moved_child(flags: c_int) -> bool {
    flags & libc::CLONE_NEWIPC != 0 && flags & libc::CLONE_VM == 0 && plan::handlers() != Handlers::Direct
}

/// To be called in such a child, before the program runs in it.
#[cold]
pub fn child_begins(flags: c_int) {
    let mask = set_mask(Mask::ALL);
    let error = errno::get();
    change(flags);
    errno::set(error);
    set_mask(mask);
}

/// unshare(2).
#[unsafe(no_mangle)]
pub extern "C-unwind" fn unshare(flags: c_int) -> c_int {
    next! { static NEXT = c"unshare"; }
    let next = behind!(NEXT, extern "C-unwind" fn(c_int) -> c_int);
    moving(flags, || next(flags).into()) as c_int
}

/// setns(2).
#[unsafe(no_mangle)]
pub extern "C-unwind" fn setns(fd: c_int, kind: c_int) -> c_int {
    next! { static NEXT = c"setns"; }
    let next = behind!(NEXT, extern "C-unwind" fn(c_int, c_int) -> c_int);
    moving(kind, || next(fd, kind).into()) as c_int
}

type Run = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

/// What a child that begins in another namespace runs.
struct Child {
    run: Run,
    argument: *mut c_void,
    flags: c_int,
}

/// Defines hooks of clone(2). The last three arguments are variadic in C; [`syscall`](crate::syscall) explains why that
/// does not matter.
macro_rules! clones {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            run: Option<Run>,
            stack: *mut c_void,
            flags: c_int,
            argument: *mut c_void,
            parent_tid: usize,
            tls: usize,
            child_tid: usize,
        ) -> c_int {
            next! { static NEXT = c_name(concat!(stringify!($name), "\0")); }
            type Next = unsafe extern "C-unwind" fn(
                Option<Run>, *mut c_void, c_int, *mut c_void, usize, usize, usize,
            ) -> c_int;
            let next = behind!(NEXT, Next);
            match run {
                Some(run) if is_moved_child(flags) => {
                    let child = Child { run, argument, flags };
                    let child = (&raw const child).cast_mut().cast();
                    // SAFETY: the caller's promise. The child reads `child` in its copy of this frame.
                    unsafe { next(Some(begin), stack, flags, child, parent_tid, tls, child_tid) }
                }
                // SAFETY: the caller's promise.
                _ => unsafe { next(run, stack, flags, argument, parent_tid, tls, child_tid) },
            }
        }
    )*};
}

clones! {
    /// clone(2).
    clone;
    /// clone(2), under its other name.
    __clone;
}

/// The first function of a child that begins in another namespace.
unsafe extern "C-unwind" fn begin(child: *mut c_void) -> c_int {
    // SAFETY: the child has a copy of its parent's memory at a moment when the parent was in the hook.
    let Child { run, argument, flags } = unsafe { child.cast::<Child>().read() };
    child_begins(flags);
    // SAFETY: the program's function and its argument.
    unsafe { run(argument) }
}
