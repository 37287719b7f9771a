//! Semaphore sets.

use crate::answer::answer;
use crate::open::Handle;
use core::ffi::{c_int, c_void};
use libc::{key_t, sembuf, size_t, timespec};

/// semget(2) on an engine.
///
/// # Safety
/// As for [`Handle::engine`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unspin_semget(
    handle: *const Handle,
    key: key_t,
    nsems: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    answer(unsafe { Handle::engine(handle) }.and_then(|engine| engine.semget(key, nsems, flags)))
}

/// semop(2) on an engine.
///
/// # Safety
/// As for [`Handle::engine`]; `ops` points to `nsops` operations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unspin_semop(
    handle: *const Handle,
    id: c_int,
    ops: *mut sembuf,
    nsops: size_t,
) -> c_int {
    // SAFETY: the caller's promises.
    answer(unsafe { Handle::engine(handle).and_then(|engine| engine.semop(id, ops as usize, count(nsops))) })
}

/// semtimedop(2) on an engine.
///
/// # Safety
/// As for [`unspin_semop`]; `timeout` is null or points to a `timespec`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unspin_semtimedop(
    handle: *const Handle,
    id: c_int,
    ops: *mut sembuf,
    nsops: size_t,
    timeout: *const timespec,
) -> c_int {
    // SAFETY: the caller's promises.
    answer(unsafe {
        Handle::engine(handle)
            .and_then(|engine| engine.semtimedop(id, ops as usize, count(nsops), timeout as usize))
    })
}

/// semctl(2) on an engine. It is variadic in C: the last argument is a `union semun` of one word, or is missing. The
/// psABI passes a variadic word in the same register as a declared one. A command without an argument ignores the
/// contents of that register.
///
/// # Safety
/// As for [`Handle::engine`]; `arg` is valid for the command.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unspin_semctl(
    handle: *const Handle,
    id: c_int,
    semnum: c_int,
    command: c_int,
    arg: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promises.
    answer(unsafe {
        Handle::engine(handle).and_then(|engine| engine.semctl(id, semnum, command, arg as usize))
    })
}

/// The kernel takes the count as an `unsigned` and ignores the upper half of a `size_t`.
#[inline(always)]
fn count(nsops: size_t) -> usize {
    nsops as u32 as usize
}
