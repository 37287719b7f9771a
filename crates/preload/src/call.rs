//! How a System V call is answered: by the engine, or by the kernel that it stands for.

use crate::cancel::{self, sheltered};
use crate::{errno, start};
use core::ffi::{c_int, c_long};
use unspin_sys::{Errno, raw};
use unspin_sysv::{Engine, Kind};

/// Who answers.
pub enum Server {
    /// The kernel.
    Kernel,
    /// An engine of ours.
    Engine(&'static Engine),
}

/// Who answers the calling thread; an engine that is yet to be opened is opened.
#[inline(always)]
pub fn server() -> Result<Server, Errno> {
    let engine = match start::opened() {
        Some(engine) => engine,
        None => cancel::undisturbed(start::engine)?,
    };
    Ok(if engine.kind() == Kind::Kernel { Server::Kernel } else { Server::Engine(engine) })
}

/// The answer to the system call of this number, which `call` asks an engine for.
///
/// # Safety
/// As for the system call.
#[inline(always)]
pub unsafe fn answer(
    number: c_long,
    arguments: [usize; 4],
    call: impl FnOnce(&'static Engine) -> Result<i32, Errno>,
) -> c_int {
    match server() {
        // SAFETY: the caller's promise.
        Ok(Server::Kernel) => unsafe { through(number, arguments) as c_int },
        Ok(Server::Engine(engine)) => errno::answer(sheltered(|| call(engine))),
        Err(errno) => errno::refuse(errno),
    }
}

/// A call that goes through to the kernel, as libc's own function makes it: one system call, during which the thread stays as it
/// is. It needs no shelter, as a function of this kind may be unwound anywhere; and it must have none, as the kernel calls the
/// program's handlers here, which may jump out of it.
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
