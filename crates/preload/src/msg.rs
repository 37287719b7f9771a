//! Message queues: hooks that the engine answers, or the next definition if the engine is the kernel.
//!
//! msgsnd and msgrcv are cancellation points (pthreads(7)). So they are `extern "C-unwind"` and have nothing to drop:
//! glibc unwinds through them. A thread that is cancelled in its sleep leaves the queue, and returns what was
//! transferred to it, before its own clean-up handlers run: see [`crate::cancel`].

use crate::call::{self, Backend, backend};
use crate::cancel::{pthread_testcancel, with_cancel_deferred};
use crate::next::{behind, next};
use core::ffi::{c_int, c_long, c_void};
use libc::{key_t, msqid_ds, size_t, ssize_t};

type Send = unsafe extern "C-unwind" fn(c_int, *const c_void, size_t, c_int) -> c_int;
type Receive = unsafe extern "C-unwind" fn(c_int, *mut c_void, size_t, c_long, c_int) -> ssize_t;

next! {
    static SEND = c"msgsnd";
    static RECEIVE = c"msgrcv";
}

/// msgget(2).
#[unsafe(no_mangle)]
pub extern "C-unwind" fn msgget(key: key_t, flags: c_int) -> c_int {
    // SAFETY: no addresses.
    unsafe {
        call::answer(libc::SYS_msgget, [key as usize, flags as usize, 0, 0], |engine| {
            engine.msgget(key, flags)
        })
    }
}

/// msgsnd(2).
///
/// # Safety
/// As for libc's: `message` points to a type and `size` bytes of text; if it does not, the answer is EFAULT.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn msgsnd(
    id: c_int,
    message: *const c_void,
    size: size_t,
    flags: c_int,
) -> c_int {
    let engine = match backend() {
        Ok(Backend::Engine(engine)) => engine,
        Ok(Backend::Kernel) => {
            let next = behind!(SEND, Send);
            // SAFETY: libc's function, and the caller's promise.
            return unsafe { next(id, message, size, flags) };
        }
        Err(errno) => return call::refuse(errno),
    };
    // Without this, a thread that never has to sleep would never be cancelled.
    pthread_testcancel();
    // SAFETY: the caller's address, as the engine expects it.
    call::answer_of_engine(with_cancel_deferred(|| unsafe {
        engine.msgsnd(id, message as usize, size, flags)
    }))
}

/// msgrcv(2).
///
/// # Safety
/// As for libc's: `message` has room for a type and `size` bytes of text; if it does not, the answer is EFAULT.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn msgrcv(
    id: c_int,
    message: *mut c_void,
    size: size_t,
    kind: c_long,
    flags: c_int,
) -> ssize_t {
    let engine = match backend() {
        Ok(Backend::Engine(engine)) => engine,
        Ok(Backend::Kernel) => {
            let next = behind!(RECEIVE, Receive);
            // SAFETY: as in `msgsnd`.
            return unsafe { next(id, message, size, kind, flags) };
        }
        Err(errno) => return call::refuse(errno) as ssize_t,
    };
    // As in `msgsnd`.
    pthread_testcancel();
    // SAFETY: the caller's address, as the engine expects it.
    match with_cancel_deferred(|| unsafe { engine.msgrcv(id, message as usize, size, kind, flags) }) {
        Ok(bytes) => bytes as ssize_t,
        Err(errno) => call::refuse(errno) as ssize_t,
    }
}

/// msgctl(2).
///
/// # Safety
/// As for libc's: `buffer` is what `command` expects.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn msgctl(id: c_int, command: c_int, buffer: *mut msqid_ds) -> c_int {
    let arguments = [id as usize, command as usize, buffer as usize, 0];
    // SAFETY: the engine and the kernel require what the caller promises.
    unsafe { call::answer(libc::SYS_msgctl, arguments, |engine| engine.msgctl(id, command, buffer as usize)) }
}
