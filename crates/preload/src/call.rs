//! Dispatches a System V call to the engine, or to the kernel.

use crate::cancel::{self, with_cancel_deferred};
use crate::{errno, start};
use core::ffi::{c_int, c_long};
use unspin_sys::{Errno, raw};
use unspin_sysv::{Engine, Kind};

/// What answers a call.
pub enum Backend {
    /// The kernel.
    Kernel,
    /// An engine of ours.
    Engine(&'static Engine),
}

/// What answers the calling thread. An engine that is not open yet is opened.
#[inline(always)]
pub fn backend() -> Result<Backend, Errno> {
    let engine = match start::find_open_engine() {
        Some(engine) => engine,
        None => cancel::with_cancel_always_deferred(start::engine)?,
    };
    Ok(if engine.kind() == Kind::Kernel { Backend::Kernel } else { Backend::Engine(engine) })
}

/// Makes a system call: by its number in the kernel, or by `call` on the engine.
///
/// # Safety
/// As for the system call.
#[inline(always)]
pub unsafe fn answer(
    number: c_long,
    arguments: [usize; 4],
    call: impl FnOnce(&'static Engine) -> Result<i32, Errno>,
) -> c_int {
    match backend() {
        // SAFETY: the caller's promise.
        Ok(Backend::Kernel) => unsafe { through(number, arguments) as c_int },
        Ok(Backend::Engine(engine)) => answer_of_engine(with_cancel_deferred(|| call(engine))),
        Err(errno) => refuse(errno),
    }
}

/// What a call that an engine has answered returns to the program: the value, or -1 with `errno` set. A success does
/// not change `errno`.
#[inline(always)]
pub fn answer_of_engine(result: Result<i32, Errno>) -> c_int {
    match result {
        Ok(value) => value,
        Err(errno) => refuse(errno),
    }
}

/// Sets `errno` and returns -1, for a call that the engine has refused. A refusal because of a damaged arena is
/// explained once. Not inlined: a hook that ends with this call has nothing to drop, so the call becomes a jump.
#[cold]
#[inline(never)]
pub extern "C-unwind" fn refuse(errno: Errno) -> c_int {
    if errno == Errno::ENOSYS {
        with_cancel_deferred(start::say_if_damaged);
    }
    errno::set(errno);
    -1
}

/// Makes the call in the kernel by one system call, as libc's own function does. The thread's cancellation type stays
/// as it is. The call is not deferred ([`with_cancel_deferred`]): it needs not be, as this function may be unwound anywhere; and
/// it must not be, as the kernel runs the program's handlers here, which may leave it by longjmp.
///
/// # Safety
/// As for the system call.
#[inline(never)]
pub unsafe fn through(number: c_long, [a, b, c, d]: [usize; 4]) -> isize {
    // SAFETY: the caller's promise.
    let answer = unsafe { raw::syscall6(number, [a, b, c, d, 0, 0]) };
    if (-4095..0).contains(&answer) {
        errno::set(Errno(-answer as i32));
        return -1;
    }
    answer
}
