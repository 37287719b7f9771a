//! Calls by which a thread goes to another IPC namespace, or gives up its part in the adjustments of SEM_UNDO. The next
//! definition answers; after a success the engine does what the kernel would, and the thread is served by the engine of the
//! namespace that it is in.

use crate::next::{behind, next};
use crate::plan::{self, Handlers};
use crate::start::{self, Opening};
use crate::{creds, errno};
use core::ffi::{c_int, c_long};
use unspin_sys::signal::{Mask, set_mask};

/// Makes a call of unshare(2) or setns(2) with these flags (of setns some may be missing, as it may be told none).
pub fn moving(flags: c_int, call: impl FnOnce() -> c_long) -> c_long {
    if plan::handlers() == Handlers::Direct {
        return call();
    }
    // A handler between the kernel's answer and ours would find the objects of the namespace before.
    let mask = set_mask(Mask::ALL);
    let answer = call();
    if answer == 0 {
        let error = errno::get();
        // A new IPC namespace brings new adjustments along (`ksys_unshare` of kernel/fork.c, `commit_nsset` of
        // kernel/nsproxy.c).
        if flags & (libc::CLONE_SYSVSEM | libc::CLONE_NEWIPC) != 0
            && let Some(engine) = start::opened()
        {
            engine.unshare_undo();
        }
        // Of another user namespace the ids are others.
        creds::changed(0);
        start::moved(match flags & libc::CLONE_NEWUSER {
            0 => Opening::AtOnce,
            _ => Opening::AtFirstCall,
        });
        errno::set(error);
    }
    set_mask(mask);
    answer
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
