//! `/proc/sysvipc/sem`, `msg` and `shm`: a program that opens one of them for reading gets the list of the engine's
//! objects.
//!
//! The next definition opens the file as requested, so every error and every flag is the kernel's. After a success a
//! file in memory replaces it under the same descriptor. It is a snapshot; the kernel's own file changes while it is
//! read. If the engine refuses every call the files do not exist, as on a kernel without System V IPC: a list of the
//! kernel's objects, which the program cannot reach, would mislead it. For any other path the hook costs a few
//! comparisons.

use crate::next::forward;
use crate::{errno, sandbox, start};
use core::ffi::{CStr, c_char, c_int};
use libc::{FILE, mode_t};
use unspin_sys::{Errno, memfile};
use unspin_sysv::{Class, Kind};

/// The class of objects that the file with this path lists.
///
/// # Safety
/// `path` is a C string.
#[inline]
unsafe fn class_of(path: *const c_char) -> Option<Class> {
    const FOLDER: &[u8] = b"/proc/sysvipc/";
    for (i, &wanted) in FOLDER.iter().enumerate() {
        // SAFETY: within the string: none of the bytes before was its null byte.
        if unsafe { *path.add(i) } as u8 != wanted {
            return None;
        }
    }
    // SAFETY: the string continues after the folder's name.
    match unsafe { CStr::from_ptr(path.add(FOLDER.len())) }.to_bytes() {
        b"sem" => Some(Class::Sem),
        b"msg" => Some(Class::Msg),
        b"shm" => Some(Class::Shm),
        _ => None,
    }
}

/// The answer for an open of `path` that returned `fd`.
///
/// # Safety
/// If `fd` is a descriptor, `path` is the C string that was opened.
#[inline]
pub unsafe fn answer_open(path: *const c_char, fd: c_int) -> c_int {
    if fd >= 0
        // SAFETY: the kernel has read the string.
        && let Some(class) = unsafe { class_of(path) }
        && let Err(error) = exchange(class, fd)
    {
        memfile::close(fd);
        errno::set(error);
        return -1;
    }
    fd
}

/// The answer for an open of `path` that returned `stream`.
///
/// # Safety
/// If `stream` is not null, it was just opened, and `path` is null or the C string that was opened.
unsafe fn answer_stream(path: *const c_char, stream: *mut FILE) -> *mut FILE {
    if !stream.is_null()
        && !path.is_null()
        // SAFETY: the kernel has read the string.
        && let Some(class) = unsafe { class_of(path) }
        // SAFETY: the stream is open, and nothing was read from it.
        && let Err(error) = exchange(class, unsafe { libc::fileno(stream) })
    {
        // SAFETY: open and unknown to other code; or the stream that freopen(3) was given, which it closes when it
        // fails.
        unsafe { libc::fclose(stream) };
        errno::set(error);
        return core::ptr::null_mut();
    }
    stream
}

/// Replaces the kernel's list by the engine's. If that fails, the open fails: the kernel's list would be the wrong one.
#[cold]
fn exchange(class: Class, fd: c_int) -> Result<(), Errno> {
    let before = errno::get();
    let exchanged = if sandbox::is_closed() || !memfile::is_read_only(fd) { Ok(()) } else { list(class, fd) };
    errno::set(before);
    exchanged.map_err(|error| match error {
        Errno::ENOSYS => {
            start::say_if_damaged();
            Errno::ENOENT
        }
        error => error,
    })
}

fn list(class: Class, fd: c_int) -> Result<(), Errno> {
    let engine = start::engine()?;
    match engine.kind() {
        Kind::Kernel => Ok(()),
        _ => memfile::replace(fd, engine.proc_text(class)?.as_bytes()),
    }
}

forward! {
    // SAFETY: the caller's path, which the kernel has read if a file was opened.
    |fd| unsafe { answer_open(path, fd) } =>
    /// open(2).
    fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    /// open(2).
    fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    /// openat(2).
    fn openat(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    /// openat(2).
    fn openat64(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    /// open(2), as glibc's headers call it if they check the mode (`_FORTIFY_SOURCE`).
    fn __open_2(path: *const c_char, flags: c_int) -> c_int;
    /// As `__open_2`.
    fn __open64_2(path: *const c_char, flags: c_int) -> c_int;
    /// openat(2), likewise.
    fn __openat_2(directory: c_int, path: *const c_char, flags: c_int) -> c_int;
    /// As `__openat_2`.
    fn __openat64_2(directory: c_int, path: *const c_char, flags: c_int) -> c_int;
}

forward! {
    // SAFETY: as above; the stream was just opened.
    |stream| unsafe { answer_stream(path, stream) } =>
    /// fopen(3).
    fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE;
    /// fopen(3).
    fn fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE;
    /// freopen(3); its path may be null.
    fn freopen(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE;
    /// freopen(3).
    fn freopen64(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE;
}
