//! Semaphores: the engine answers.
//!
//! What may block is `extern "C-unwind"` and has nothing to drop: a thread that is cancelled asynchronously inside is
//! unwound by glibc, and an `extern "C"` function would abort the program instead.

use crate::{errno, notice, start};
use core::ffi::{c_int, c_void};
use libc::{key_t, sembuf, size_t, timespec};
use unspin_sync::atomic::{AtomicBool, Ordering};
use unspin_sys::Errno;
use unspin_sysv::Engine;

/// semget(2).
#[unsafe(no_mangle)]
pub extern "C" fn semget(key: key_t, nsems: c_int, flags: c_int) -> c_int {
    errno::answer(start::engine().and_then(|engine| engine.semget(key, nsems, flags)))
}

/// semop(2).
///
/// # Safety
/// As for libc's: `ops` is `nsops` operations, or EFAULT is answered.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn semop(id: c_int, ops: *mut sembuf, nsops: size_t) -> c_int {
    if count(nsops) != 1 {
        // SAFETY: the caller's promise.
        return unsafe { operate(id, ops, nsops, core::ptr::null()) };
    }
    // The engine is the process's only one, and a thread that has not called it before has joined none.
    // SAFETY: the caller's address, as the engine wants it.
    match unsafe { Engine::try_semop(id, ops as usize) } {
        Some(Ok(value)) => value,
        Some(Err(Errno(e))) => fail(e),
        // SAFETY: the caller's promise.
        None => unsafe { operate(id, ops, 1, core::ptr::null()) },
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
    let result = start::engine()
        // SAFETY: the caller's addresses, as the engine wants them.
        .and_then(|engine| unsafe { engine.semtimedop(id, ops as usize, count(nsops), timeout as usize) });
    match result {
        Ok(value) => value,
        Err(Errno(e)) => fail(e),
    }
}

/// semctl(2). Variadic in C: the fourth argument is a `union semun` of one word, or missing, and the psABI
/// passes a variadic word in the register of a declared one. A command without argument ignores what it holds.
///
/// # Safety
/// As for libc's: `arg` is what `command` wants.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn semctl(id: c_int, semnum: c_int, command: c_int, arg: *mut c_void) -> c_int {
    // SAFETY: the caller's promise is the engine's.
    errno::answer(
        start::engine().and_then(|engine| unsafe { engine.semctl(id, semnum, command, arg as usize) }),
    )
}

/// The kernel takes the count as an `unsigned`, and does not see the upper half of libc's `size_t`.
#[inline(always)]
fn count(nsops: size_t) -> usize {
    nsops as u32 as usize
}

/// Answers with an error number. Not inlined, as `operate`.
#[inline(never)]
extern "C" fn fail(errno: c_int) -> c_int {
    let errno = Errno(errno);
    if errno == Errno::EOPNOTSUPP {
        undo_refused();
    }
    errno::set(errno);
    -1
}

/// The kernel never answers EOPNOTSUPP to semop, so it is the engine that refused SEM_UNDO. Said once per
/// process, and not again by children that a process forks after it.
#[cold]
fn undo_refused() {
    static SAID: AtomicBool = AtomicBool::new(false);
    // Relaxed: only the question who came first matters.
    if SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    if let Some(engine) = start::opened() {
        notice::print(format_args!(
            "SEM_UNDO is not implemented by engine {} yet; run with --sysv kernel (semop returns EOPNOTSUPP)",
            engine.kind()
        ));
    }
}
