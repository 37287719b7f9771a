//! Semaphores: the engine answers.
//!
//! All are `extern "C-unwind"` and have nothing to drop: a thread that is cancelled asynchronously inside is unwound by
//! glibc, and an `extern "C"` function would abort the program instead.

use crate::{call, errno};
use core::ffi::{c_int, c_void};
use libc::{key_t, sembuf, size_t, timespec};
use unspin_sysv::Engine;
use unspin_sysv::cancel::{self, Manner};

/// semget(2).
#[unsafe(no_mangle)]
pub extern "C-unwind" fn semget(key: key_t, nsems: c_int, flags: c_int) -> c_int {
    let arguments = [key as usize, nsems as usize, flags as usize, 0];
    // SAFETY: no addresses.
    unsafe { call::answer(libc::SYS_semget, arguments, |engine| engine.semget(key, nsems, flags)) }
}

/// semop(2).
///
/// # Safety
/// As for libc's: `ops` is `nsops` operations, or EFAULT is answered.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn semop(id: c_int, ops: *mut sembuf, nsops: size_t) -> c_int {
    // In a debug build the fast path has landing places, and whoever may be cancelled anywhere must not enter it.
    let enters = !cfg!(debug_assertions) || Engine::is_quick() && cancel::manner() == Manner::Deferred;
    if count(nsops) != 1 || !enters {
        // SAFETY: the caller's promise.
        return unsafe { operate(id, ops, nsops, core::ptr::null()) };
    }
    // SAFETY: the caller's promise.
    unsafe { single(id, ops) }
}

/// semop of one operation.
///
/// # Safety
/// As for `semop`.
#[cfg_attr(debug_assertions, inline(never))]
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe extern "C-unwind" fn single(id: c_int, op: *mut sembuf) -> c_int {
    // The engine is the process's only one, and a thread that has not called it before has joined none.
    // SAFETY: the caller's address, as the engine wants it.
    match unsafe { Engine::try_semop(id, op as usize) } {
        Some(Ok(value)) => value,
        Some(Err(e)) => errno::refuse(e),
        // SAFETY: the caller's promise.
        None => unsafe {
            match cancel::manner() {
                Manner::Deferred if Engine::is_quick() => patiently(id, op),
                // There is no such way for it; nor for whom the kernel answers, and who may be in a handler that libc lets be
                // cancelled anywhere, which is told of to nobody then.
                _ => operate(id, op, 1, core::ptr::null()),
            }
        },
    }
}

/// semop of one operation that is not the plainest. Not inlined, as `operate`.
///
/// # Safety
/// As for `semop`.
#[cold]
#[inline(never)]
unsafe extern "C-unwind" fn patiently(id: c_int, op: *mut sembuf) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { Engine::try_undoable(id, op as usize) } {
        Some(Ok(value)) => value,
        Some(Err(e)) => errno::refuse(e),
        // SAFETY: the caller's promise.
        None => unsafe { operate(id, op, 1, core::ptr::null()) },
    }
}

/// semtimedop(2).
///
/// # Safety
/// As for libc's: `ops` is `nsops` operations and `timeout` null or a relative time, or EFAULT is answered.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn semtimedop(
    id: c_int,
    ops: *mut sembuf,
    nsops: size_t,
    timeout: *const timespec,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { operate(id, ops, nsops, timeout) }
}

/// Both of the above in full. Not inlined: a hook that ends with this call has nothing to drop, so it
/// jumps here, and saves nothing for it.
///
/// # Safety
/// As for `semtimedop`.
#[cold]
#[inline(never)]
unsafe extern "C-unwind" fn operate(
    id: c_int,
    ops: *mut sembuf,
    nsops: size_t,
    timeout: *const timespec,
) -> c_int {
    let number = if timeout.is_null() { libc::SYS_semop } else { libc::SYS_semtimedop };
    let (ops, timeout) = (ops as usize, timeout as usize);
    // SAFETY: the caller's addresses, as the engine wants them, and the kernel.
    unsafe {
        call::answer(number, [id as usize, ops, nsops, timeout], |engine| {
            engine.semtimedop(id, ops, count(nsops), timeout)
        })
    }
}

/// semctl(2). Variadic in C: the fourth argument is a `union semun` of one word, or missing, and the psABI
/// passes a variadic word in the register of a declared one. A command without argument ignores what it holds.
///
/// # Safety
/// As for libc's: `arg` is what `command` wants.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn semctl(id: c_int, semnum: c_int, command: c_int, arg: *mut c_void) -> c_int {
    let arguments = [id as usize, semnum as usize, command as usize, arg as usize];
    // SAFETY: the caller's promise is the engine's, and the kernel's.
    unsafe {
        call::answer(libc::SYS_semctl, arguments, |engine| engine.semctl(id, semnum, command, arg as usize))
    }
}

/// The kernel takes the count as an `unsigned`, and does not see the upper half of libc's `size_t`.
#[inline(always)]
fn count(nsops: size_t) -> usize {
    nsops as u32 as usize
}
