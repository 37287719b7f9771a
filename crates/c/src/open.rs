//! Opens and closes engines.

use crate::answer::set_errno;
use crate::guard;
use core::cell::RefCell;
use core::ffi::{CStr, c_char, c_int};
use core::ptr;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use unspin_sys::{Errno, fault};
use unspin_sysv::{ArenaError, Engine, Kind, Options};

/// `unspin_sysv` of the header: a C program's handle of an engine.
pub struct Handle(Engine);

impl Handle {
    /// The engine of a handle from C; `EINVAL` for a null pointer.
    ///
    /// # Safety
    /// `handle` is null, or was returned by `unspin_sysv_open` and has not been closed.
    #[inline(always)]
    pub unsafe fn engine<'a>(handle: *const Handle) -> Result<&'a Engine, Errno> {
        // SAFETY: the caller's promise.
        unsafe { handle.as_ref() }.map(|handle| &handle.0).ok_or(Errno::EINVAL)
    }
}

/// `struct unspin_sysv_options` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CommonOptions {
    size: usize,
    arena_bytes: u64,
    arena_mode: u32,
}

thread_local! {
    /// Why this thread's latest call of `unspin_sysv_open` failed.
    static WHY: RefCell<CString> = RefCell::default();
}

/// See the header.
///
/// # Safety
/// `path` is null or a string; `options` is null or as large as its first member says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unspin_sysv_open(
    kind: c_int,
    path: *const c_char,
    options: *const CommonOptions,
) -> *mut Handle {
    guard::install();
    fault::trust_addresses();
    // SAFETY: the caller's promise.
    let opened = unsafe { open(kind, path, options) };
    match opened {
        Ok(engine) => Box::into_raw(Box::new(Handle(engine))),
        Err((errno, text)) => {
            WHY.with_borrow_mut(|why| *why = CString::new(text.replace('\0', "")).unwrap_or_default());
            set_errno(errno);
            ptr::null_mut()
        }
    }
}

/// See the header.
///
/// # Safety
/// `handle` is null, or was returned by `unspin_sysv_open` and has not been closed; no thread uses it during or after
/// this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unspin_sysv_close(handle: *mut Handle) {
    if !handle.is_null() {
        // SAFETY: the pointer came from `Box::into_raw` in `unspin_sysv_open`, and the caller gives up its ownership.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn unspin_sysv_error() -> *const c_char {
    WHY.with_borrow(|why| why.as_ptr())
}

/// # Safety
/// As for [`unspin_sysv_open`].
unsafe fn open(
    kind: c_int,
    path: *const c_char,
    options: *const CommonOptions,
) -> Result<Engine, (Errno, String)> {
    let invalid = |text: &str| (Errno::EINVAL, text.to_owned());
    let kind = usize::try_from(kind).ok().and_then(|n| Kind::ALL.get(n));
    let kind = *kind.ok_or_else(|| invalid("the kind is none of enum unspin_sysv_kind"))?;
    // SAFETY: the caller's promise.
    let options = unsafe { read(options) }.ok_or_else(|| {
        invalid("the options' size is not theirs: begin with UNSPIN_SYSV_OPTIONS_INIT of the same version")
    })?;
    let arena = match path.is_null() {
        true => Engine::default_arena(kind),
        // SAFETY: not null, so the caller promises a string.
        false => PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes())),
    };
    Engine::open(kind, &arena, &options, None).map_err(|e| (errno_of(&e), e.to_string()))
}

/// Reads the options; zero stands for a default. `None` if the size is not that of a known version of the structure.
///
/// # Safety
/// `options` is null, or as large as its first member says.
unsafe fn read(options: *const CommonOptions) -> Option<Options> {
    let usual = Options::default();
    if options.is_null() {
        return Some(usual);
    }
    // SAFETY: not null, so the caller promises at least the first member.
    if unsafe { (*options).size } != size_of::<CommonOptions>() {
        return None;
    }
    // SAFETY: the caller promises that the structure is as large as its first member says, and that size has just
    // been checked.
    let requested = unsafe { *options };
    let bytes = if requested.arena_bytes == 0 { usual.bytes } else { requested.arena_bytes };
    let mode = if requested.arena_mode == 0 { usual.mode } else { requested.arena_mode };
    Some(Options { bytes, mode, ..usual })
}

/// The `errno` for an arena that cannot be used. The error text is more detailed.
fn errno_of(error: &ArenaError) -> Errno {
    match error {
        ArenaError::Io(_, e) => Errno(e.raw_os_error().unwrap_or(Errno::EIO.0)),
        ArenaError::NotOurs(_) | ArenaError::DefaultPathTaken(_) => Errno::EACCES,
        ArenaError::Corrupt(_) | ArenaError::Truncated(_) | ArenaError::Overwritten(_) => {
            Errno(libc::EBADMSG)
        }
        ArenaError::Version(_) | ArenaError::Engine(..) => Errno::EOPNOTSUPP,
        ArenaError::TooSmall(_) => Errno::EINVAL,
    }
}
