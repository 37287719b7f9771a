//! The functions behind the hooks: the next definitions (libc's own). A function that does not exist fails with ENOSYS.

use crate::next::{behind, c_name, next};
use core::ffi::{c_int, c_ulong, c_void};
use libc::{epoll_event, fd_set, iovec, msghdr, pollfd, sigset_t, sockaddr, socklen_t, timespec, timeval};

macro_rules! real {
    ($($(#[$doc:meta])* fn $ours:ident = $name:ident($($arg:ident: $type:ty),*) -> $answer:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the function in libc.
        #[inline(always)]
        pub unsafe fn $ours($($arg: $type),*) -> $answer {
            next! { static NEXT = c_name(concat!(stringify!($name), "\0")); }
            let next = behind!(NEXT, unsafe extern "C-unwind" fn($($type),*) -> $answer);
            // SAFETY: the next definition requires what the caller promises.
            unsafe { next($($arg),*) }
        }
    )*};
}

real! {
    /// poll(2).
    fn poll = poll(fds: *mut pollfd, count: c_ulong, timeout: c_int) -> c_int;
    /// poll(2), with the check of `_FORTIFY_SOURCE`.
    fn poll_chk = __poll_chk(fds: *mut pollfd, count: c_ulong, timeout: c_int, bytes: usize) -> c_int;
    /// ppoll(2).
    fn ppoll = ppoll(fds: *mut pollfd, count: c_ulong, timeout: *const timespec, mask: *const sigset_t) -> c_int;
    /// ppoll(2), with the check of `_FORTIFY_SOURCE`.
    fn ppoll_chk = __ppoll_chk(
        fds: *mut pollfd, count: c_ulong, timeout: *const timespec, mask: *const sigset_t, bytes: usize) -> c_int;

    /// select(2).
    fn select = select(
        count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *mut timeval) -> c_int;
    /// pselect(2).
    fn pselect = pselect(
        count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *const timespec,
        mask: *const sigset_t) -> c_int;

    /// epoll_wait(2).
    fn epoll_wait = epoll_wait(set: c_int, events: *mut epoll_event, room: c_int, timeout: c_int) -> c_int;
    /// epoll_pwait(2).
    fn epoll_pwait = epoll_pwait(
        set: c_int, events: *mut epoll_event, room: c_int, timeout: c_int, mask: *const sigset_t) -> c_int;
    /// epoll_pwait2(2).
    fn epoll_pwait2 = epoll_pwait2(
        set: c_int, events: *mut epoll_event, room: c_int, timeout: *const timespec, mask: *const sigset_t) -> c_int;

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

    /// accept(2).
    fn accept = accept(fd: c_int, from: *mut sockaddr, length: *mut socklen_t) -> c_int;
    /// accept4(2).
    fn accept4 = accept4(fd: c_int, from: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int;
}
