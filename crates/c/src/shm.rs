//! Shared memory segments.

use crate::answer::{answer, set_errno};
use crate::open::Handle;
use core::ffi::{c_int, c_void};
use libc::{key_t, shmid_ds, size_t};

/// shmget(2) on an engine.
///
/// # Safety
/// As for [`Handle::engine`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unspin_shmget(
    handle: *const Handle,
    key: key_t,
    size: size_t,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    answer(unsafe { Handle::engine(handle) }.and_then(|engine| engine.shmget(key, size, flags)))
}

/// shmat(2) on an engine.
///
/// # Safety
/// As for [`Handle::engine`]; with `SHM_REMAP`, no references into the memory mapped at `address` remain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unspin_shmat(
    handle: *const Handle,
    id: c_int,
    address: *const c_void,
    flags: c_int,
) -> *mut c_void {
    // SAFETY: the caller's promises.
    let attached =
        unsafe { Handle::engine(handle).and_then(|engine| engine.shmat(id, address as usize, flags)) };
    match attached {
        Ok(address) => address as *mut c_void,
        Err(errno) => {
            set_errno(errno);
            -1isize as *mut c_void
        }
    }
}

/// shmdt(2) on an engine.
///
/// # Safety
/// As for [`Handle::engine`]; no references into the attachment remain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unspin_shmdt(handle: *const Handle, address: *const c_void) -> c_int {
    // SAFETY: the caller's promises.
    answer(unsafe { Handle::engine(handle).and_then(|engine| engine.shmdt(address as usize)) })
}

/// shmctl(2) on an engine.
///
/// # Safety
/// As for [`Handle::engine`]; `buffer` is valid for the command.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unspin_shmctl(
    handle: *const Handle,
    id: c_int,
    command: c_int,
    buffer: *mut shmid_ds,
) -> c_int {
    // SAFETY: the caller's promises.
    answer(unsafe { Handle::engine(handle).and_then(|engine| engine.shmctl(id, command, buffer as usize)) })
}
