//! Finds code whose calls of libc [bypass](crate::bypass) the hooks. The dynamic linker binds a library that is loaded with `RTLD_DEEPBIND`, or
//! in a namespace of its own (`dlmopen`), to libc directly. A library behind this one may ask for libc's own lock functions by
//! `RTLD_NEXT`, and any code for those of an old version. Such code and the program may share a lock or a condition.
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
use crate::swap::{self, plan};
use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr::null_mut;
use libc::{LM_ID_BASE, RTLD_DEEPBIND, RTLD_DEFAULT, RTLD_NEXT};
use unspin_sys::{Errno, entry_that_looks, glibc, private};

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

/// What the names begin with that only functions of mutexes, read-write locks, spin locks and conditions have.
const LOCK_FUNCTIONS: [&[u8]; 8] = [
    b"pthread_mutex_",
    b"__pthread_mutex_",
    b"pthread_rwlock_",
    b"__pthread_rwlock_",
    b"pthread_spin_",
    b"pthread_cond_",
    b"mtx_",
    b"cnd_",
];

/// Whether the process needs a hand-over if code calls libc's function of this name. Where libc serves all locks of a family, no other
/// lock is concerned.
fn needs_hand_over(name: &CStr) -> bool {
    let name = name.to_bytes();
    if name.starts_with(b"pthread_rwlock_") || name.starts_with(b"__pthread_rwlock_") {
        plan::replaces_rwlocks()
    } else if name.starts_with(b"pthread_spin_") {
        plan::replaces_spin_locks()
    } else {
        true
    }
}

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
        find_hook as *const () as usize
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
        find_hook as *const () as usize
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
            if needs_hand_over(name) {
                found();
            }
            false
        }
    };
    errno::set(before);
    finds_the_hook
}

/// Functions that a library which wraps locks defines some of.
const POSIX_FUNCTIONS: [&CStr; 9] = [
    c"pthread_mutex_lock",
    c"pthread_mutex_unlock",
    c"pthread_rwlock_rdlock",
    c"pthread_rwlock_wrlock",
    c"pthread_rwlock_unlock",
    c"pthread_spin_lock",
    c"pthread_spin_unlock",
    c"pthread_cond_wait",
    c"pthread_cond_signal",
];

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
    if private::function_of_this(name) == 0 {
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
    // A library behind this one that wraps a lock function may look up what it wraps. The hook would lead to the library again,
    // and one of C11 leads to functions of POSIX.
    let is_wrapped = POSIX_FUNCTIONS.iter().any(|name| !lookup::is_in_libc(next_to_this(name)));
    let is_hooked =
        found == next_to_this(name) || glibc::is_before(2, 34) && private::is_function_of_libc(name, found);
    if is_hooked && !is_wrapped { Lookup::OfTheHook } else { Lookup::Bypass }
}

/// What a hook of this name goes on to. The dynamic linker looks it up, because it knows which libraries are just being closed.
fn next_to_this(name: &CStr) -> usize {
    // SAFETY: a C string. The result is used here, so the call is not a tail call.
    unsafe { lookup::dlsym(RTLD_NEXT, name.as_ptr()) as usize }
}

/// dlsym(3) for a lookup that has to find a hook.
extern "C" fn find_hook(_: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: the name is the program's, a C string.
    private::function_of_this(unsafe { CStr::from_ptr(name) }) as *mut c_void
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
