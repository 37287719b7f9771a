//! Code whose calls of libc bypass the hooks. The dynamic linker binds a library that is loaded with `RTLD_DEEPBIND`, or
//! in a namespace of its own (`dlmopen`), to libc directly. Such code and the program may share a mutex or a condition.
//!
//! So this module looks at the arguments of these functions. The protocol of what follows is that of
//! [`unspin_locks::handover`]. From the first such call on nothing is replaced any more:
//! conditions are libc's (waiters of ours are woken), and a mutex of ours becomes libc's when a thread of the program next
//! acquires it, or waits with it. A mutex that a thread of the program holds at that moment is ours until it is released.
//!
//! A function that is looked at must not notice the hook. libc finds out by the return address who calls: the next
//! definition is therefore jumped to.

use crate::errno;
use crate::next::{Next, next};
use crate::swap;
use core::ffi::{c_char, c_int, c_long, c_void};
use core::ptr::null_mut;
use libc::{LM_ID_BASE, RTLD_DEEPBIND};
use unspin_locks::HandOver;
use unspin_sys::{Errno, entry_that_looks};

/// Whether there is, or may be, such code. Each reader has its own argument why it sees that in time.
pub static HAND_OVER: HandOver = HandOver::NOT_BEGUN;

/// Whether there is, or may be, code whose calls bypass the hooks.
#[inline(always)]
pub fn exists() -> bool {
    HAND_OVER.has_begun()
}

/// To be called before such code gets into the process.
#[cold]
fn found() {
    if HAND_OVER.begin() {
        swap::give_up();
    }
    // By every thread that loads such code: another thread may have begun only just now.
    swap::shared::settle();
}

entry_that_looks! {
    /// dlopen(3).
    fn dlopen = look_at_dlopen;
    /// dlmopen(3).
    fn dlmopen = look_at_dlmopen;
}

next! {
    static DLOPEN = c"dlopen";
    static DLMOPEN = c"dlmopen";
}

extern "C" fn look_at_dlopen(_: *const c_char, flags: c_int) -> usize {
    if flags & RTLD_DEEPBIND != 0 {
        found();
    }
    destination(&DLOPEN)
}

extern "C" fn look_at_dlmopen(namespace: c_long, _: *const c_char, flags: c_int) -> usize {
    if namespace != LM_ID_BASE || flags & RTLD_DEEPBIND != 0 {
        found();
    }
    destination(&DLMOPEN)
}

/// Where the call goes on.
fn destination(next: &Next) -> usize {
    match next.address() {
        0 => unavailable as *const () as usize,
        address => address,
    }
}

/// Stands for a function that this libc does not have.
extern "C" fn unavailable() -> *mut c_void {
    errno::set(Errno::ENOSYS);
    null_mut()
}
