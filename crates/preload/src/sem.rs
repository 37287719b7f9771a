//! Semaphores: hooks that the engine answers.
//!
//! All are `extern "C-unwind"` and have nothing to drop: glibc unwinds a thread that is cancelled asynchronously
//! inside, and an `extern "C"` function would abort the program instead.

use crate::call;
use core::ffi::{c_int, c_void};
use libc::{key_t, sembuf, size_t, timespec};
use unspin_sys::Errno;
use unspin_sysv::cancel::{self, CancelType};
use unspin_sysv::{Engine, LoadedOp, OneOpCaller};

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
/// As for libc's: `ops` points to `nsops` operations; if it does not, the answer is EFAULT.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn semop(id: c_int, ops: *mut sembuf, nsops: size_t) -> c_int {
    // A fast path with landing pads (see build.rs) must not be entered by a thread with asynchronous cancellation.
    let enters =
        !cfg!(landing_pads) || Engine::has_fast_path() && cancel::cancel_type() == CancelType::Deferred;
    if count(nsops) != 1 || !enters {
        // SAFETY: the caller's promise.
        return unsafe { semop_slow(id, ops, nsops, core::ptr::null()) };
    }
    // SAFETY: the caller's promise.
    unsafe { semop_one(id, ops) }
}

/// semop of one operation: the engine's paths.
///
/// # Safety
/// As for `semop`.
#[cfg_attr(landing_pads, inline(never))]
#[cfg_attr(not(landing_pads), inline(always))]
unsafe extern "C-unwind" fn semop_one(id: c_int, op: *mut sembuf) -> c_int {
    // The fast paths use the engine that the thread has joined. The process has no other, and a thread without calls
    // has joined none.
    // SAFETY: the caller's address, as the engine expects it.
    unsafe { Engine::semop_one(Hook, id, op as usize) }
}

/// The hook, as the engine's paths of one operation call it.
#[derive(Clone, Copy)]
struct Hook;

impl OneOpCaller for Hook {
    type Answer = c_int;

    #[inline(always)]
    fn answer(self, result: Result<i32, Errno>) -> c_int {
        call::answer_of_engine(result)
    }

    #[inline(always)]
    unsafe fn call(self, id: c_int, op: usize) -> c_int {
        // SAFETY: the caller's promise.
        unsafe { semop_slow(id, op as *mut sembuf, 1, core::ptr::null()) }
    }

    #[inline(always)]
    unsafe fn call_after_load(self, id: c_int, op: usize, loaded: LoadedOp) -> c_int {
        // SAFETY: the caller's promise.
        unsafe { semop_after_load(id, op, loaded) }
    }
}

/// semop in full of one operation that is loaded already. Not inlined, for the same reason as `semop_slow`.
///
/// # Safety
/// As for `semop`.
#[cold]
#[inline(never)]
unsafe extern "C-unwind" fn semop_after_load(id: c_int, op: usize, loaded: LoadedOp) -> c_int {
    // SAFETY: the addresses are the caller's, as the engine and the kernel expect them.
    unsafe {
        call::answer(libc::SYS_semop, [id as usize, op, 1, 0], |engine| {
            engine.semop_after_load(id, op, loaded)
        })
    }
}

/// semtimedop(2).
///
/// # Safety
/// As for libc's: `ops` points to `nsops` operations and `timeout` is null or points to a relative time; if not, the
/// answer is EFAULT.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn semtimedop(
    id: c_int,
    ops: *mut sembuf,
    nsops: size_t,
    timeout: *const timespec,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { semop_slow(id, ops, nsops, timeout) }
}

/// semop and semtimedop in full. Not inlined: a hook that ends with this call has nothing to drop, so the call becomes
/// a jump, and the hook saves no registers for it.
///
/// # Safety
/// As for `semtimedop`.
#[cold]
#[inline(never)]
unsafe extern "C-unwind" fn semop_slow(
    id: c_int,
    ops: *mut sembuf,
    nsops: size_t,
    timeout: *const timespec,
) -> c_int {
    let number = if timeout.is_null() { libc::SYS_semop } else { libc::SYS_semtimedop };
    let (ops, timeout) = (ops as usize, timeout as usize);
    // SAFETY: the addresses are the caller's, as the engine and the kernel expect them.
    unsafe {
        call::answer(number, [id as usize, ops, nsops, timeout], |engine| {
            engine.semtimedop(id, ops, count(nsops), timeout)
        })
    }
}

/// semctl(2). Variadic in C: the fourth argument is a `union semun` of one word, or missing. The psABI passes a
/// variadic word in the same register as a declared one. A command without this argument ignores the register.
///
/// # Safety
/// As for libc's: `arg` is what `command` expects.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn semctl(id: c_int, semnum: c_int, command: c_int, arg: *mut c_void) -> c_int {
    let arguments = [id as usize, semnum as usize, command as usize, arg as usize];
    // SAFETY: the engine and the kernel require what the caller promises.
    unsafe {
        call::answer(libc::SYS_semctl, arguments, |engine| engine.semctl(id, semnum, command, arg as usize))
    }
}

/// The kernel takes the count as an `unsigned`: it ignores the upper half of libc's `size_t`.
#[inline(always)]
fn count(nsops: size_t) -> usize {
    nsops as u32 as usize
}
