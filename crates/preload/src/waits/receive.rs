//! Blocking calls that receive: read(2), recv(2) and similar calls.

use super::descriptor::{self, Call};
use super::handlers::Interruption;
use super::poll::is_readable;
use crate::errno;
use crate::watch::Hook;
use core::ffi::{c_int, c_void};
use libc::{iovec, msghdr, sockaddr, socklen_t};
use unspin_sys::entry;
use unspin_wire::RecordKind;
use unspin_wire::looks::{LookKind, Looks};

crate::next::define_next! {
    /// read(2).
    fn read = read(fd: c_int, buffer: *mut c_void, room: usize) -> isize;
    /// read(2), with the check of `_FORTIFY_SOURCE`.
    fn read_chk = __read_chk(fd: c_int, buffer: *mut c_void, room: usize, bytes: usize) -> isize;
    /// readv(2).
    fn readv = readv(fd: c_int, buffers: *const iovec, count: c_int) -> isize;
    /// recv(2).
    fn recv = recv(fd: c_int, buffer: *mut c_void, room: usize, flags: c_int) -> isize;
    /// recv(2), with the check of `_FORTIFY_SOURCE`.
    fn recv_chk = __recv_chk(fd: c_int, buffer: *mut c_void, room: usize, bytes: usize, flags: c_int) -> isize;
    /// recvfrom(2).
    fn recvfrom = recvfrom(
        fd: c_int, buffer: *mut c_void, room: usize, flags: c_int, from: *mut sockaddr, length: *mut socklen_t) -> isize;
    /// recvmsg(2).
    fn recvmsg = recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> isize;
}

entry! {
    /// read(2).
    fn read(3) = read_entry;
    /// read(2), as programs compiled with `_FORTIFY_SOURCE` call it.
    fn __read_chk(4) = read_chk;
    /// readv(2).
    fn readv(3) = readv_entry;
    /// recv(2).
    fn recv(4) = recv_entry;
    /// recv(2), as programs compiled with `_FORTIFY_SOURCE` call it.
    fn __recv_chk(5) = recv_chk;
    /// recvfrom(2).
    fn recvfrom(6) = recvfrom_entry;
    /// recvmsg(2).
    fn recvmsg(3) = recvmsg_entry;
}

/// read(2). A look calls poll(2). The read that follows may still sleep if another thread was faster, as without a
/// look.
struct Read {
    fd: c_int,
    buffer: *mut c_void,
    room: usize,
}

impl Call for Read {
    type Answer = isize;
    const KIND: RecordKind = RecordKind::Receive;
    const LOOKS: Looks = Looks::of([LookKind::Readable]);

    unsafe fn may_poll(&mut self) -> bool {
        self.room > 0 && descriptor::blocks(self.fd) && !descriptor::receives_in_bulk(self.fd)
    }

    unsafe fn look(&mut self) -> Option<isize> {
        // SAFETY: the program's arguments.
        is_readable(self.fd).then(|| unsafe { self.sleep() })
    }

    unsafe fn sleep(&self) -> isize {
        // SAFETY: the program's arguments.
        unsafe { real::read(self.fd, self.buffer, self.room) }
    }

    fn items(answer: isize) -> u64 {
        u64::from(answer > 0)
    }

    fn is_ended_by(&self, handlers: Interruption) -> bool {
        handlers.ends_restartable() || handlers.ends_any() && descriptor::has_receive_timeout(self.fd)
    }
}

unsafe extern "C-unwind" fn read_entry(
    fd: c_int,
    buffer: *mut c_void,
    room: usize,
    sp: usize,
    bp: usize,
) -> isize {
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { descriptor::wait(Read { fd, buffer, room }, Hook::new(sp, bp)) }
}

unsafe extern "C-unwind" fn read_chk(
    fd: c_int,
    buffer: *mut c_void,
    room: usize,
    bytes: usize,
    sp: usize,
    bp: usize,
) -> isize {
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe {
        match bytes < room {
            // libc's own function ends the program.
            true => real::read_chk(fd, buffer, room, bytes),
            false => read_entry(fd, buffer, room, sp, bp),
        }
    }
}

/// readv(2): recorded, but never polled for, as only the kernel can tell whether its buffers have room.
struct ReadV {
    fd: c_int,
    buffers: *const iovec,
    count: c_int,
}

impl Call for ReadV {
    type Answer = isize;
    const KIND: RecordKind = RecordKind::Receive;
    const LOOKS: Looks = Looks::NONE;

    unsafe fn may_poll(&mut self) -> bool {
        false
    }

    unsafe fn look(&mut self) -> Option<isize> {
        None
    }

    unsafe fn sleep(&self) -> isize {
        // SAFETY: the program's arguments.
        unsafe { real::readv(self.fd, self.buffers, self.count) }
    }

    fn items(answer: isize) -> u64 {
        u64::from(answer > 0)
    }

    fn is_ended_by(&self, handlers: Interruption) -> bool {
        handlers.ends_restartable() || handlers.ends_any() && descriptor::has_receive_timeout(self.fd)
    }
}

unsafe extern "C-unwind" fn readv_entry(
    fd: c_int,
    buffers: *const iovec,
    count: c_int,
    sp: usize,
    bp: usize,
) -> isize {
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { descriptor::wait(ReadV { fd, buffers, count }, Hook::new(sp, bp)) }
}

/// recv(2), recvfrom(2) or recvmsg(2): `receives` makes the call with the given flags. A look is the same call with
/// MSG_DONTWAIT.
struct Receive<F> {
    fd: c_int,
    flags: c_int,
    receives: F,
}

impl<F: Fn(c_int) -> isize> Call for Receive<F> {
    type Answer = isize;
    const KIND: RecordKind = RecordKind::Receive;
    const LOOKS: Looks = Looks::of([LookKind::Receive]);

    unsafe fn may_poll(&mut self) -> bool {
        // With MSG_WAITALL a look would take the data that is there, which may be less than the program requested.
        const UNFIT: c_int = libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE | libc::MSG_OOB | libc::MSG_WAITALL;
        self.flags & UNFIT == 0 && descriptor::blocks(self.fd) && !descriptor::receives_in_bulk(self.fd)
    }

    unsafe fn look(&mut self) -> Option<isize> {
        let answer = (self.receives)(self.flags | libc::MSG_DONTWAIT);
        let is_empty = answer < 0 && errno::get().0 == libc::EAGAIN;
        (!is_empty).then_some(answer)
    }

    unsafe fn sleep(&self) -> isize {
        (self.receives)(self.flags)
    }

    fn items(answer: isize) -> u64 {
        u64::from(answer > 0)
    }

    fn is_ended_by(&self, handlers: Interruption) -> bool {
        handlers.ends_restartable() || handlers.ends_any() && descriptor::has_receive_timeout(self.fd)
    }
}

unsafe extern "C-unwind" fn recv_entry(
    fd: c_int,
    buffer: *mut c_void,
    room: usize,
    flags: c_int,
    sp: usize,
    bp: usize,
) -> isize {
    // SAFETY: the program's arguments.
    let receives = |flags| unsafe { real::recv(fd, buffer, room, flags) };
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { descriptor::wait(Receive { fd, flags, receives }, Hook::new(sp, bp)) }
}

unsafe extern "C-unwind" fn recv_chk(
    fd: c_int,
    buffer: *mut c_void,
    room: usize,
    bytes: usize,
    flags: c_int,
    sp: usize,
    bp: usize,
) -> isize {
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe {
        match bytes < room {
            // libc's own function ends the program.
            true => real::recv_chk(fd, buffer, room, bytes, flags),
            false => recv_entry(fd, buffer, room, flags, sp, bp),
        }
    }
}

unsafe extern "C-unwind" fn recvfrom_entry(
    fd: c_int,
    buffer: *mut c_void,
    room: usize,
    flags: c_int,
    from: *mut sockaddr,
    length: *mut socklen_t,
    sp: usize,
    bp: usize,
) -> isize {
    // SAFETY: the program's arguments.
    let receives = |flags| unsafe { real::recvfrom(fd, buffer, room, flags, from, length) };
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { descriptor::wait(Receive { fd, flags, receives }, Hook::new(sp, bp)) }
}

unsafe extern "C-unwind" fn recvmsg_entry(
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
    sp: usize,
    bp: usize,
) -> isize {
    // SAFETY: the program's arguments.
    let receives = |flags| unsafe { real::recvmsg(fd, message, flags) };
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { descriptor::wait(Receive { fd, flags, receives }, Hook::new(sp, bp)) }
}
