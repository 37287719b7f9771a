//! poll(2) and ppoll(2).

use super::descriptor::{self, Call};
use super::handlers::Interruption;
use crate::errno;
use crate::watch::Hook;
use core::ffi::{c_int, c_ulong};
use core::ptr::null;
use libc::{pollfd, sigset_t, timespec};
use unspin_sys::{Errno, entry};
use unspin_wire::RecordKind;
use unspin_wire::looks::{LookKind, Looks};

crate::next::define_next! {
    /// poll(2).
    fn poll = poll(fds: *mut pollfd, count: c_ulong, timeout: c_int) -> c_int;
    /// poll(2), with the check of `_FORTIFY_SOURCE`.
    fn poll_chk = __poll_chk(fds: *mut pollfd, count: c_ulong, timeout: c_int, bytes: usize) -> c_int;
    /// ppoll(2).
    fn ppoll = ppoll(fds: *mut pollfd, count: c_ulong, timeout: *const timespec, mask: *const sigset_t) -> c_int;
    /// ppoll(2), with the check of `_FORTIFY_SOURCE`.
    fn ppoll_chk = __ppoll_chk(
        fds: *mut pollfd, count: c_ulong, timeout: *const timespec, mask: *const sigset_t, bytes: usize) -> c_int;
}

entry! {
    /// poll(2).
    fn poll(3) = poll_entry;
    /// poll(2), as programs compiled with `_FORTIFY_SOURCE` call it.
    fn __poll_chk(4) = poll_chk;
    /// ppoll(2).
    fn ppoll(4) = ppoll_entry;
    /// ppoll(2), as programs compiled with `_FORTIFY_SOURCE` call it.
    fn __ppoll_chk(5) = ppoll_chk;
}

/// poll or ppoll: they differ in how they sleep.
struct Poll<Sleep> {
    fds: *mut pollfd,
    count: c_ulong,
    /// Null: long enough for a poll.
    timeout: *const timespec,
    mask: *const sigset_t,
    sleep: Sleep,
}

impl<Sleep: Fn() -> c_int> Call for Poll<Sleep> {
    type Answer = c_int;
    const KIND: RecordKind = RecordKind::Poll;
    const LOOKS: Looks = Looks::of([LookKind::Poll]);
    const TAKES_NOTHING: bool = true;

    unsafe fn may_poll(&mut self) -> bool {
        // SAFETY: libc also reads this time.
        unsafe { descriptor::is_long(self.timeout) }
    }

    unsafe fn look(&mut self) -> Option<c_int> {
        // SAFETY: the program's arguments.
        let found = descriptor::found(unsafe { real::poll(self.fds, self.count, 0) })?;
        // The kernel writes to the array when the call ends. If that fails the call sleeps first, and then fails.
        (found >= 0 || errno::get() != Errno::EFAULT).then_some(found)
    }

    fn mask(&self) -> *const sigset_t {
        self.mask
    }

    unsafe fn sleep(&self) -> c_int {
        (self.sleep)()
    }

    fn items(answer: c_int) -> u64 {
        u64::from(answer > 0)
    }

    fn is_ended_by(&self, handlers: Interruption) -> bool {
        handlers.ends_any()
    }
}

unsafe extern "C-unwind" fn poll_entry(
    fds: *mut pollfd,
    count: c_ulong,
    timeout: c_int,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments.
    let sleep = || unsafe { real::poll(fds, count, timeout) };
    if timeout == 0 {
        return sleep();
    }
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { descriptor::wait(Poll { fds, count, timeout: null(), mask: null(), sleep }, Hook::new(sp, bp)) }
}

unsafe extern "C-unwind" fn poll_chk(
    fds: *mut pollfd,
    count: c_ulong,
    timeout: c_int,
    bytes: usize,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe {
        if bytes / size_of::<pollfd>() < count as usize {
            // libc's own function ends the program.
            return real::poll_chk(fds, count, timeout, bytes);
        }
        poll_entry(fds, count, timeout, sp, bp)
    }
}

unsafe extern "C-unwind" fn ppoll_entry(
    fds: *mut pollfd,
    count: c_ulong,
    timeout: *const timespec,
    mask: *const sigset_t,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments.
    let sleep = || unsafe { real::ppoll(fds, count, timeout, mask) };
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { descriptor::wait(Poll { fds, count, timeout, mask, sleep }, Hook::new(sp, bp)) }
}

unsafe extern "C-unwind" fn ppoll_chk(
    fds: *mut pollfd,
    count: c_ulong,
    timeout: *const timespec,
    mask: *const sigset_t,
    bytes: usize,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe {
        if bytes / size_of::<pollfd>() < count as usize {
            // libc's own function ends the program.
            return real::ppoll_chk(fds, count, timeout, mask, bytes);
        }
        ppoll_entry(fds, count, timeout, mask, sp, bp)
    }
}

/// Whether descriptor `fd` now has data to read or an error to report. True if poll(2) fails on it, false if a handler
/// interrupts poll(2).
pub fn is_readable(fd: c_int) -> bool {
    let mut asked = pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one live pollfd, and a live time.
    descriptor::found(unsafe { real::ppoll(&mut asked, 1, &timespec { tv_sec: 0, tv_nsec: 0 }, null()) })
        .is_some()
}
