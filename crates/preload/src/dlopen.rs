//! Finds code whose calls of libc [bypass](crate::bypass) the hooks. The dynamic linker binds a library that is loaded with `RTLD_DEEPBIND`, or
//! in a namespace of its own (`dlmopen`), to libc directly. A library behind this one may ask for libc's own lock functions by
//! `RTLD_NEXT`, and any code for those of an old version. Such code and the program may share a mutex or a condition.
//!
//! So this module looks at the arguments of these functions.
//!
//! A handle of libc, as the foreign-function interfaces of Python, Java and .NET have it, is no bypass: a lookup by it finds the
//! hook. Without this library it finds what a lookup by default finds, and with it too.
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
    // SAFETY: the arguments are the program's, with which it calls this function.
    let found = || unsafe { lookup::dlsym(handle, name) as usize };
    if finds_the_hook(handle, name, caller, found) {
        by_default as *const () as usize
    } else {
        destination(&DLSYM)
    }
}

extern "C" fn look_at_dlvsym(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
    caller: usize,
) -> usize {
    // SAFETY: as above.
    let found = || unsafe { lookup::dlvsym(handle, name, version) as usize };
    if finds_the_hook(handle, name, caller, found) {
        by_default as *const () as usize
    } else {
        destination(&DLVSYM)
    }
}

/// Whether a lookup that is about to be made has to find a hook, where `find` makes it, unless it depends on the caller. The
/// program's own call comes after it, so dlerror(3) reports the program's.
fn finds_the_hook(
    handle: *mut c_void,
    name: *const c_char,
    caller: usize,
    find: impl FnOnce() -> usize,
) -> bool {
    if handle == RTLD_DEFAULT || name.is_null() {
        return false;
    }
    // SAFETY: the program passes it as a C string.
    let name = unsafe { CStr::from_ptr(name) };
    if !LOCK_FUNCTIONS.iter().any(|begin| name.to_bytes().starts_with(begin)) {
        return false;
    }
    let before = errno::get();
    let finds_the_hook = match kind_of(handle, name, caller, find) {
        Lookup::Other => false,
        Lookup::OfTheHook => true,
        Lookup::Bypass => {
            found();
            false
        }
    };
    errno::set(before);
    finds_the_hook
}

/// What a lookup of a function of locks finds.
enum Lookup {
    /// A function that is not hooked, or not libc's.
    Other,
    /// The function of libc that the hook stands for: the lookup has to find the hook.
    OfTheHook,
    /// Another function of libc's: its calls bypass the hook.
    Bypass,
}

fn kind_of(handle: *mut c_void, name: &CStr, caller: usize, find: impl FnOnce() -> usize) -> Lookup {
    let by_default = by_default(null_mut(), name.as_ptr()) as usize;
    if by_default == 0 || lookup::is_in_libc(by_default) {
        return Lookup::Other;
    }
    if handle == RTLD_NEXT {
        // What is next to a library behind this one is libc's.
        let is_behind = private::is_behind_this(lookup::object_of(caller));
        return if is_behind { Lookup::Bypass } else { Lookup::Other };
    }
    let found = find();
    if !lookup::is_in_libc(found) {
        return Lookup::Other;
    }
    // A library that wraps the function may look up what it wraps: in front of this one, and behind it, where the hook leads to the
    // library again.
    let is_wrapped = !private::is_in_this(by_default) || private::is_defined_behind_this(&[name]);
    if is_wrapped || found != private::function_of_libc(name) { Lookup::Bypass } else { Lookup::OfTheHook }
}

/// dlsym(3) with `RTLD_DEFAULT`, in place of another handle. It finds the hook, or the function of another library in front of
/// this one: all of these are in the search order before libc.
extern "C" fn by_default(_: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: the name is the program's, a C string.
    unsafe { lookup::dlsym(RTLD_DEFAULT, name) }
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
