//! What the arguments of a call say: whether it would block, and for how long.

use crate::errno;
use crate::waits::permits;
use core::ffi::c_int;
use libc::timespec;
use unspin_sys::{Errno, mem, raw};
use unspin_wire::looks::{LookKind, Looks};

/// The result of a look that is a call with a timeout of 0, from the call's answer. EINTR counts as "nothing": it says
/// nothing about the descriptors.
pub fn found(answer: c_int) -> Option<c_int> {
    let is_nothing = answer == 0 || answer == -1 && errno::get() == Errno::EINTR;
    (!is_nothing).then_some(answer)
}

/// Whether calls on a descriptor block: O_NONBLOCK is not set.
pub fn blocks(fd: c_int) -> bool {
    // SAFETY: no pointers.
    let flags = unsafe { raw::call(libc::SYS_fcntl, [fd as usize, libc::F_GETFL as usize]) };
    flags.is_ok_and(|flags| flags as c_int & libc::O_NONBLOCK == 0)
}

/// Whether receiving from a socket has a timeout (SO_RCVTIMEO). Then a handler ends a call even with SA_RESTART
/// (signal(7)).
pub fn has_receive_timeout(fd: c_int) -> bool {
    socket_option::<[i64; 2]>(fd, libc::SO_RCVTIMEO).is_some_and(|timeout| timeout != [0, 0])
}

/// Whether a blocking receive waits for more than one byte (SO_RCVLOWAT); a look would not wait for them.
pub fn receives_in_bulk(fd: c_int) -> bool {
    socket_option::<c_int>(fd, libc::SO_RCVLOWAT).is_some_and(|bytes| bytes > 1)
}

/// A socket option whose value consists of integers; `None` if the descriptor is not a socket.
fn socket_option<T: Default + Copy>(fd: c_int, option: c_int) -> Option<T> {
    let mut value = T::default();
    let mut length = size_of::<T>() as libc::socklen_t;
    let at = [&raw mut value as usize, &raw mut length as usize];
    let arguments = [fd as usize, libc::SOL_SOCKET as usize, option as usize, at[0], at[1]];
    // SAFETY: room for the option's value, and its length.
    unsafe { raw::call(libc::SYS_getsockopt, arguments) }.ok().map(|_| value)
}

/// Whether a timeout is a millisecond or more, so that a poll hardly makes it longer. Null means for ever.
///
/// # Safety
/// `timeout` is null or a live time.
pub unsafe fn is_long(timeout: *const timespec) -> bool {
    // SAFETY: the caller's promise.
    let Some(&timespec { tv_sec, tv_nsec }) = (unsafe { timeout.as_ref() }) else { return true };
    // An invalid time is not long; libc refuses it.
    let is_time = tv_sec >= 0 && (0..1_000_000_000).contains(&tv_nsec);
    is_time && (tv_sec > 0 || tv_nsec >= 1_000_000)
}

/// Whether a timeout that only the kernel reads is a millisecond or more. A bad address is left for the kernel to report.
pub fn is_long_in_kernel(timeout: *const timespec) -> bool {
    // SAFETY: a live time.
    timeout.is_null() || time_in_kernel(timeout).is_some_and(|time| unsafe { is_long(&time) })
}

/// Whether the kernel accepts a time that only the kernel reads (`timespec64_valid`). Null means for ever.
pub fn is_time_in_kernel(time: *const timespec) -> bool {
    let is_valid = |time: timespec| time.tv_sec >= 0 && (0..1_000_000_000).contains(&time.tv_nsec);
    time.is_null() || time_in_kernel(time).is_some_and(is_valid)
}

/// A time that only the kernel reads; `None` if it cannot be read, or if inherited filters forbid to ask the kernel for it.
fn time_in_kernel(time: *const timespec) -> Option<timespec> {
    permits(Looks::of([LookKind::Memory])).then_some(())?;
    let mut bytes = [0; size_of::<timespec>()];
    mem::copy_in(time.addr(), &mut bytes).ok()?;
    let [tv_sec, tv_nsec] =
        [0, 8].map(|at| i64::from_ne_bytes(bytes[at..at + 8].try_into().expect("8 bytes")));
    Some(timespec { tv_sec, tv_nsec })
}
