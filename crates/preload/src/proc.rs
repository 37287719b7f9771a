//! `/proc/sysvipc/sem`, `msg` and `shm`: whoever opens one for reading finds the engine's objects in it.
//!
//! The file is opened as asked, by whoever is next, so that every error and every flag is the kernel's. If that succeeds
//! a file in memory takes its place under the same descriptor: a picture of that moment, where the kernel's own changes
//! while it is read. An engine that refuses every call has no such files, as a kernel without System V IPC has none: a
//! list of the kernel's objects, none of which the program can reach, would mislead it. Any other path costs a few
//! comparisons.

use crate::next::forward;
use crate::{errno, sandbox, start};
use core::ffi::{CStr, c_char, c_int};
use libc::{FILE, mode_t};
use unspin_sys::{Errno, memfile};
use unspin_sysv::{Class, Kind};

/// The class whose file a path names.
///
/// # Safety
/// A C string.
#[inline]
unsafe fn class_of(path: *const c_char) -> Option<Class> {
    const FOLDER: &[u8] = b"/proc/sysvipc/";
    for (i, &wanted) in FOLDER.iter().enumerate() {
        // SAFETY: within the string: all its bytes so far were none that end it.
        if unsafe { *path.add(i) } as u8 != wanted {
            return None;
        }
    }
    // SAFETY: the string goes on behind the folder's name.
    match unsafe { CStr::from_ptr(path.add(FOLDER.len())) }.to_bytes() {
        b"sem" => Some(Class::Sem),
        b"msg" => Some(Class::Msg),
        b"shm" => Some(Class::Shm),
        _ => None,
    }
}

/// What an opening of `path` that answered `fd` is to answer.
///
/// # Safety
/// If `fd` is a descriptor, `path` is the C string that was opened.
#[inline]
pub unsafe fn opened(path: *const c_char, fd: c_int) -> c_int {
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

/// The same for a stream.
///
/// # Safety
/// If `stream` is not null, it is one just opened, and `path` the C string that was opened, or null.
unsafe fn streamed(path: *const c_char, stream: *mut FILE) -> *mut FILE {
    if !stream.is_null()
        && !path.is_null()
        // SAFETY: the kernel has read the string.
        && let Some(class) = unsafe { class_of(path) }
        // SAFETY: a stream that is open; nothing was read from it.
        && let Err(error) = exchange(class, unsafe { libc::fileno(stream) })
    {
        // SAFETY: open, and known to nobody else; or what freopen(3) was given, which it closes when it fails.
        unsafe { libc::fclose(stream) };
        errno::set(error);
        return core::ptr::null_mut();
    }
    stream
}

/// Puts the engine's list into the place of the kernel's; or says why it cannot be had, and then nothing else will do.
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
    // SAFETY: the caller's path, which the next definition has read if it opened a file.
    |fd| unsafe { opened(path, fd) } =>
    /// open(2).
    fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    /// open(2).
    fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    /// openat(2).
    fn openat(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    /// openat(2).
    fn openat64(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    /// open(2), as glibc's headers call it where the mode is checked (`_FORTIFY_SOURCE`).
    fn __open_2(path: *const c_char, flags: c_int) -> c_int;
    /// The same.
    fn __open64_2(path: *const c_char, flags: c_int) -> c_int;
    /// openat(2), the same.
    fn __openat_2(directory: c_int, path: *const c_char, flags: c_int) -> c_int;
    /// The same.
    fn __openat64_2(directory: c_int, path: *const c_char, flags: c_int) -> c_int;
}

forward! {
    // SAFETY: as above; a stream that was just opened.
    |stream| unsafe { streamed(path, stream) } =>
    /// fopen(3).
    fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE;
    /// fopen(3).
    fn fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE;
    /// freopen(3), which may be given no path.
    fn freopen(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE;
    /// freopen(3).
    fn freopen64(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE;
}
