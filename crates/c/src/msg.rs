//! Message queues.

use crate::answer::{answer, set_errno};
use crate::open::Handle;
use core::ffi::{c_int, c_long, c_void};
use libc::{key_t, msqid_ds, size_t, ssize_t};

/// msgget(2) on an engine.
///
/// # Safety
/// As for [`Handle::engine`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unspin_msgget(handle: *const Handle, key: key_t, flags: c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer(unsafe { Handle::engine(handle) }.and_then(|engine| engine.msgget(key, flags)))
}

/// msgsnd(2) on an engine.
///
/// # Safety
/// As for [`Handle::engine`]; `message` points to a `long` and `size` bytes after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unspin_msgsnd(
    handle: *const Handle,
    id: c_int,
    message: *const c_void,
    size: size_t,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's promises.
    answer(unsafe {
        Handle::engine(handle).and_then(|engine| engine.msgsnd(id, message as usize, size, flags))
    })
}

/// msgrcv(2) on an engine.
///
/// # Safety
/// As for [`Handle::engine`]; `message` points to room for a `long` and `size` bytes after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unspin_msgrcv(
    handle: *const Handle,
    id: c_int,
    message: *mut c_void,
    size: size_t,
    kind: c_long,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's promises.
    let received = unsafe {
        Handle::engine(handle).and_then(|engine| engine.msgrcv(id, message as usize, size, kind, flags))
    };
    match received {
        Ok(bytes) => bytes as ssize_t,
        Err(errno) => {
            set_errno(errno);
            -1
        }
    }
}

/// msgctl(2) on an engine.
///
/// # Safety
/// As for [`Handle::engine`]; `buffer` is valid for the command.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unspin_msgctl(
    handle: *const Handle,
    id: c_int,
    command: c_int,
    buffer: *mut msqid_ds,
) -> c_int {
    // SAFETY: the caller's promises.
    answer(unsafe { Handle::engine(handle).and_then(|engine| engine.msgctl(id, command, buffer as usize)) })
}
