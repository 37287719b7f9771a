//! Finds code whose calls of libc [bypass](crate::bypass) the hooks. The dynamic linker binds a library that is loaded with `RTLD_DEEPBIND`, or
//! in a namespace of its own (`dlmopen`), to libc directly. A program may also ask for libc's own lock functions: dlsym(3) on a
//! handle of libc, as the foreign-function interfaces of Python, Java and .NET do, or `RTLD_NEXT` in a library behind this one.
//! Such code and the program may share a mutex or a condition.
//!
//! So this module looks at the arguments of these functions.
//!
//! A function that is looked at must not notice the hook. libc finds out the caller by the return address: the next
//! definition is therefore jumped to.

use crate::bypass::HAND_OVER;
use crate::errno;
use crate::lookup;
use crate::next::{Next, next};
use crate::swap;
use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr::null_mut;
use libc::{LM_ID_BASE, RTLD_DEEPBIND, RTLD_DEFAULT, RTLD_NEXT};
use unspin_sys::{Errno, entry_that_looks, private};

/// To be called before such code gets into the process.
#[cold]
fn found() {
    if HAND_OVER.begin() {
        swap::give_up();
    }
    // By every thread that loads such code: another thread may have begun only just now.
    swap::shared::settle();
}

entry_that_looks! {
    /// dlopen(3).
    fn dlopen = look_at_dlopen;
    /// dlmopen(3).
    fn dlmopen = look_at_dlmopen;
    /// dlsym(3).
    fn dlsym = look_at_dlsym;
    /// dlvsym(3).
    fn dlvsym = look_at_dlvsym;
}

next! {
    static DLOPEN = c"dlopen";
    static DLMOPEN = c"dlmopen";
    static DLSYM = c"dlsym";
    static DLVSYM = c"dlvsym";
}

/// What the names begin with that only functions of mutexes and conditions have. Other locks are always libc's.
const LOCK_FUNCTIONS: [&[u8]; 5] =
    [b"pthread_mutex_", b"__pthread_mutex_", b"pthread_cond_", b"mtx_", b"cnd_"];

extern "C" fn look_at_dlopen(_: *const c_char, flags: c_int) -> usize {
    if flags & RTLD_DEEPBIND != 0 {
        found();
    }
    destination(&DLOPEN)
}

extern "C" fn look_at_dlmopen(namespace: c_long, _: *const c_char, flags: c_int) -> usize {
    if namespace != LM_ID_BASE || flags & RTLD_DEEPBIND != 0 {
        found();
    }
    destination(&DLMOPEN)
}

extern "C" fn look_at_dlsym(handle: *mut c_void, name: *const c_char, _: usize, caller: usize) -> usize {
    // Rust's standard library and `unspin-sys`, of which other libraries must see nothing.
    if private::is_in_this(caller) {
        return lookup::libcs_dlsym();
    }
    look_at_lookup(handle, name, caller, || {
        // SAFETY: the arguments are the program's, with which it calls this function.
        unsafe { lookup::dlsym(handle, name) as usize }
    });
    destination(&DLSYM)
}

extern "C" fn look_at_dlvsym(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
    caller: usize,
) -> usize {
    look_at_lookup(handle, name, caller, || {
        // SAFETY: as above.
        unsafe { lookup::dlvsym(handle, name, version) as usize }
    });
    destination(&DLVSYM)
}

/// A lookup that is about to be made. `find` makes it too, unless it depends on the caller. The program's own call comes after
/// it, so dlerror(3) reports the program's.
fn look_at_lookup(handle: *mut c_void, name: *const c_char, caller: usize, find: impl FnOnce() -> usize) {
    if handle == RTLD_DEFAULT || name.is_null() {
        return;
    }
    // SAFETY: the program passes it as a C string.
    let text = unsafe { CStr::from_ptr(name) }.to_bytes();
    if LOCK_FUNCTIONS.iter().any(|begin| text.starts_with(begin)) {
        let before = errno::get();
        if is_hooked(name) && is_libcs(handle, caller, find) {
            found();
        }
        errno::set(before);
    }
}

/// Whether the program's calls of this function lead to this library, or to another one in front of it. All of these are
/// in the search order before libc.
fn is_hooked(name: *const c_char) -> bool {
    // SAFETY: a C string.
    let by_default = unsafe { lookup::dlsym(RTLD_DEFAULT, name) } as usize;
    by_default != 0 && !lookup::is_in_libc(by_default)
}

/// Whether the lookup of a hooked function finds libc's. What is next to a library behind this one is libc's too.
fn is_libcs(handle: *mut c_void, caller: usize, find: impl FnOnce() -> usize) -> bool {
    if handle == RTLD_NEXT {
        private::is_behind_this(lookup::object_of(caller))
    } else {
        lookup::is_in_libc(find())
    }
}

/// Where the call goes on.
fn destination(next: &Next) -> usize {
    match next.address() {
        0 => unavailable as *const () as usize,
        address => address,
    }
}

/// Stands for a function that this libc does not have.
extern "C" fn unavailable() -> *mut c_void {
    errno::set(Errno::ENOSYS);
    null_mut()
}
