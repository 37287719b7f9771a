//! accept(2) and accept4(2).

use super::descriptor::{self, Call};
use super::handlers::Interruption;
use super::poll::is_readable;
use crate::watch::Hook;
use core::ffi::c_int;
use libc::{sockaddr, socklen_t};
use unspin_sys::entry;
use unspin_wire::RecordKind;
use unspin_wire::looks::{LookKind, Looks};

crate::next::define_next! {
    /// accept(2).
    fn accept = accept(fd: c_int, from: *mut sockaddr, length: *mut socklen_t) -> c_int;
    /// accept4(2).
    fn accept4 = accept4(fd: c_int, from: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int;
}

entry! {
    /// accept(2).
    fn accept(3) = accept_entry;
    /// accept4(2).
    fn accept4(4) = accept4_entry;
}

/// accept(2) or accept4(2). A look calls poll(2). The call that follows may still sleep if another thread was faster,
/// as without a look.
struct Accept<F> {
    fd: c_int,
    accepts: F,
}

impl<F: Fn() -> c_int> Call for Accept<F> {
    type Answer = c_int;
    const KIND: RecordKind = RecordKind::Accept;
    const LOOKS: Looks = Looks::of([LookKind::Readable]);

    unsafe fn may_poll(&mut self) -> bool {
        descriptor::blocks(self.fd)
    }

    unsafe fn look(&mut self) -> Option<c_int> {
        is_readable(self.fd).then(|| (self.accepts)())
    }

    unsafe fn sleep(&self) -> c_int {
        (self.accepts)()
    }

    fn items(answer: c_int) -> u64 {
        u64::from(answer >= 0)
    }

    fn is_ended_by(&self, handlers: Interruption) -> bool {
        handlers.ends_restartable() || handlers.ends_any() && descriptor::has_receive_timeout(self.fd)
    }
}

unsafe extern "C-unwind" fn accept_entry(
    fd: c_int,
    from: *mut sockaddr,
    length: *mut socklen_t,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments.
    let accepts = || unsafe { real::accept(fd, from, length) };
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { descriptor::wait(Accept { fd, accepts }, Hook::new(sp, bp)) }
}

unsafe extern "C-unwind" fn accept4_entry(
    fd: c_int,
    from: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments.
    let accepts = || unsafe { real::accept4(fd, from, length, flags) };
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { descriptor::wait(Accept { fd, accepts }, Hook::new(sp, bp)) }
}
