//! epoll_wait(2), epoll_pwait(2) and epoll_pwait2(2).
//!
//! A look is the same call with a timeout of 0. The thread to which the kernel gives an event takes it, once.

use super::descriptor::{self, Call};
use super::handlers::Interruption;
use crate::watch::Hook;
use core::ffi::c_int;
use core::ptr::null;
use libc::{epoll_event, sigset_t, timespec};
use unspin_sys::entry;
use unspin_wire::RecordKind;
use unspin_wire::looks::{LookKind, Looks};

crate::next::define_next! {
    /// epoll_wait(2).
    fn epoll_wait = epoll_wait(set: c_int, events: *mut epoll_event, room: c_int, timeout: c_int) -> c_int;
    /// epoll_pwait(2).
    fn epoll_pwait = epoll_pwait(
        set: c_int, events: *mut epoll_event, room: c_int, timeout: c_int, mask: *const sigset_t) -> c_int;
    /// epoll_pwait2(2).
    fn epoll_pwait2 = epoll_pwait2(
        set: c_int, events: *mut epoll_event, room: c_int, timeout: *const timespec, mask: *const sigset_t) -> c_int;
}

entry! {
    /// epoll_wait(2).
    fn epoll_wait(4) = wait;
    /// epoll_pwait(2).
    fn epoll_pwait(5) = pwait;
    /// epoll_pwait2(2).
    fn epoll_pwait2(5) = pwait2;
}

/// One of the calls: they differ in how they sleep.
struct Epoll<Sleep> {
    set: c_int,
    events: *mut epoll_event,
    room: c_int,
    timeout: *const timespec,
    mask: *const sigset_t,
    sleep: Sleep,
}

impl<Sleep: Fn() -> c_int> Call for Epoll<Sleep> {
    type Answer = c_int;
    const KIND: RecordKind = RecordKind::Epoll;
    const LOOKS: Looks = Looks::of([LookKind::Epoll]);

    unsafe fn may_poll(&mut self) -> bool {
        descriptor::is_long_in_kernel(self.timeout)
    }

    unsafe fn look(&mut self) -> Option<c_int> {
        // SAFETY: the program's arguments.
        descriptor::found(unsafe { real::epoll_wait(self.set, self.events, self.room, 0) })
    }

    unsafe fn sleep(&self) -> c_int {
        (self.sleep)()
    }

    fn mask(&self) -> *const sigset_t {
        self.mask
    }

    fn items(answer: c_int) -> u64 {
        u64::try_from(answer).unwrap_or(0)
    }

    fn is_ended_by(&self, handlers: Interruption) -> bool {
        handlers.ends_any()
    }
}

unsafe extern "C-unwind" fn wait(
    set: c_int,
    events: *mut epoll_event,
    room: c_int,
    timeout: c_int,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments.
    let sleep = || unsafe { real::epoll_wait(set, events, room, timeout) };
    if timeout == 0 {
        return sleep();
    }
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe {
        descriptor::wait(Epoll { set, events, room, timeout: null(), mask: null(), sleep }, Hook::new(sp, bp))
    }
}

unsafe extern "C-unwind" fn pwait(
    set: c_int,
    events: *mut epoll_event,
    room: c_int,
    timeout: c_int,
    mask: *const sigset_t,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments.
    let sleep = || unsafe { real::epoll_pwait(set, events, room, timeout, mask) };
    if timeout == 0 {
        return sleep();
    }
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { descriptor::wait(Epoll { set, events, room, timeout: null(), mask, sleep }, Hook::new(sp, bp)) }
}

unsafe extern "C-unwind" fn pwait2(
    set: c_int,
    events: *mut epoll_event,
    room: c_int,
    timeout: *const timespec,
    mask: *const sigset_t,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments.
    let sleep = || unsafe { real::epoll_pwait2(set, events, room, timeout, mask) };
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { descriptor::wait(Epoll { set, events, room, timeout, mask, sleep }, Hook::new(sp, bp)) }
}
