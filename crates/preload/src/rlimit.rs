//! Limits of address space (`RLIMIT_AS`). A recording takes gigabytes of it, nearly all of them empty, and the kernel
//! counts all of them: a program that limits itself could not allocate any more. So the size of the recording is added
//! to each limit that the program sets, and subtracted from each limit that it reads. Programs that it starts inherit
//! the larger limit, and so have room for the recording too.

use crate::next::{Next, behind, next};
use crate::watch::recording;
use core::ffi::{c_int, c_uint};
use libc::{RLIM_INFINITY, RLIMIT_AS, pid_t, rlim_t, rlimit};
use unspin_sys::process;

/// Bytes of address space that the recording takes; 0 without a recording.
fn recording_bytes() -> rlim_t {
    recording::get().map_or(0, |recording| {
        let range = recording.range();
        range.end - range.start
    })
}

fn map(limit: rlimit, each: impl Fn(rlim_t) -> rlim_t) -> rlimit {
    let one = |n| if n == RLIM_INFINITY { n } else { each(n) };
    rlimit { rlim_cur: one(limit.rlim_cur), rlim_max: one(limit.rlim_max) }
}

/// Sets and reads a limit of the calling process by `call`. Like prlimit(2), `call` takes the new limit and a place for
/// the old one. Either may be null.
///
/// # Safety
/// Both pointers are null or live.
unsafe fn translate(
    resource: c_uint,
    new: *const rlimit,
    old: *mut rlimit,
    call: impl FnOnce(*const rlimit, *mut rlimit) -> c_int,
) -> c_int {
    let taken = if resource == RLIMIT_AS { recording_bytes() } else { 0 };
    if taken == 0 {
        return call(new, old);
    }
    // SAFETY: the caller's promise.
    let more = unsafe { new.as_ref() }.map(|&limit| map(limit, |n| n.saturating_add(taken)));
    let code = call(more.as_ref().map_or(core::ptr::null(), |limit| limit), old);
    // SAFETY: the caller's promise; a successful call has written it.
    if let Some(old) = unsafe { old.as_mut() }
        && code == 0
    {
        *old = map(*old, |n| n.saturating_sub(taken));
    }
    code
}

unsafe fn set(next: &Next, resource: c_uint, limit: *const rlimit) -> c_int {
    let next = behind!(next, unsafe extern "C-unwind" fn(c_uint, *const rlimit) -> c_int);
    // SAFETY: the program's arguments.
    unsafe { translate(resource, limit, core::ptr::null_mut(), |new, _| next(resource, new)) }
}

unsafe fn get(next: &Next, resource: c_uint, limit: *mut rlimit) -> c_int {
    let next = behind!(next, unsafe extern "C-unwind" fn(c_uint, *mut rlimit) -> c_int);
    // SAFETY: the program's arguments.
    unsafe { translate(resource, core::ptr::null(), limit, |_, old| next(resource, old)) }
}

unsafe fn both(next: &Next, pid: pid_t, resource: c_uint, new: *const rlimit, old: *mut rlimit) -> c_int {
    let next = behind!(next, unsafe extern "C-unwind" fn(pid_t, c_uint, *const rlimit, *mut rlimit) -> c_int);
    // SAFETY: the program's arguments.
    unsafe {
        if pid == 0 || pid as u32 == process::pid() {
            translate(resource, new, old, |new, old| next(pid, resource, new, old))
        } else {
            next(pid, resource, new, old)
        }
    }
}

/// Defines the functions under both of their names: on x86-64 `rlimit64` and `rlimit` are the same.
macro_rules! exports {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) = $ours:ident, $text:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
            next! { static NEXT = $text; }
            // SAFETY: the caller's promise.
            unsafe { $ours(&NEXT, $($argument),*) }
        }
    )*};
}

exports! {
    /// setrlimit(2).
    fn setrlimit(resource: c_uint, limit: *const rlimit) = set, c"setrlimit";
    /// setrlimit(2).
    fn setrlimit64(resource: c_uint, limit: *const rlimit) = set, c"setrlimit64";
    /// getrlimit(2).
    fn getrlimit(resource: c_uint, limit: *mut rlimit) = get, c"getrlimit";
    /// getrlimit(2).
    fn getrlimit64(resource: c_uint, limit: *mut rlimit) = get, c"getrlimit64";
    /// prlimit(2).
    fn prlimit(pid: pid_t, resource: c_uint, new: *const rlimit, old: *mut rlimit) = both, c"prlimit";
    /// prlimit(2).
    fn prlimit64(pid: pid_t, resource: c_uint, new: *const rlimit, old: *mut rlimit) = both, c"prlimit64";
}
