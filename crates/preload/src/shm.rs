//! Shared memory segments: hooks that the engine answers.

use crate::call::{self, Backend, backend, through};
use crate::cancel::with_cancel_deferred;
use core::ffi::{c_int, c_void};
use libc::{key_t, shmid_ds, size_t};

/// shmget(2).
#[unsafe(no_mangle)]
pub extern "C-unwind" fn shmget(key: key_t, size: size_t, flags: c_int) -> c_int {
    let arguments = [key as usize, size, flags as usize, 0];
    // SAFETY: no addresses.
    unsafe { call::answer(libc::SYS_shmget, arguments, |engine| engine.shmget(key, size, flags)) }
}

/// shmat(2).
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn shmat(id: c_int, address: *const c_void, flags: c_int) -> *mut c_void {
    let answer = match backend() {
        Ok(Backend::Kernel) => {
            let arguments = [id as usize, address as usize, flags as usize, 0];
            // SAFETY: the kernel requires what the caller promises.
            return unsafe { through(libc::SYS_shmat, arguments) } as *mut c_void;
        }
        Ok(Backend::Engine(engine)) => with_cancel_deferred(|| {
            // SAFETY: the engine requires what the caller promises.
            unsafe { engine.shmat(id, address as usize, flags) }
        }),
        Err(errno) => Err(errno),
    };
    match answer {
        Ok(address) => address as *mut c_void,
        Err(errno) => call::refuse(errno) as isize as *mut c_void,
    }
}

/// shmdt(2).
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn shmdt(address: *const c_void) -> c_int {
    // SAFETY: the engine and the kernel require what the caller promises.
    unsafe {
        call::answer(libc::SYS_shmdt, [address as usize, 0, 0, 0], |engine| engine.shmdt(address as usize))
    }
}

/// shmctl(2).
///
/// # Safety
/// As for libc's: `buffer` is what `command` expects; if it is not, the answer is EFAULT.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn shmctl(id: c_int, command: c_int, buffer: *mut shmid_ds) -> c_int {
    let arguments = [id as usize, command as usize, buffer as usize, 0];
    // SAFETY: the engine and the kernel require what the caller promises.
    unsafe { call::answer(libc::SYS_shmctl, arguments, |engine| engine.shmctl(id, command, buffer as usize)) }
}
