//! libc's own dlsym(3) and the like, which the program does not see. Under these names this library has hooks (`dlopen`), and
//! the program or another library may have functions of its own.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use core::ptr::{null, null_mut};
use unspin_sync::atomic::{AtomicUsize, Ordering};
use unspin_sys::private;

static DLSYM: AtomicUsize = AtomicUsize::new(0);
static DLVSYM: AtomicUsize = AtomicUsize::new(0);
static DLADDR1: AtomicUsize = AtomicUsize::new(0);

/// Finds the functions. Otherwise each is found when it is needed, while other threads may close libraries.
pub fn prepare() {
    known(&DLSYM, c"dlsym");
    known(&DLVSYM, c"dlvsym");
    known(&DLADDR1, c"dladdr1");
}

/// The address of a function of libc, 0 if it has none of that name.
fn known(address: &AtomicUsize, name: &CStr) -> usize {
    // Relaxed (both): only the address itself is published, and every lookup finds the same one.
    let known = address.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let found = private::function_of_libc(name);
    address.store(found, Ordering::Relaxed);
    found
}

/// dlsym(3), called from this library. `RTLD_NEXT` is relative to its place in the search order.
///
/// # Safety
/// As for the function in libc. The call must not be a tail call: libc looks at the return address.
#[inline(always)]
pub unsafe fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    type Function = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    match libcs_dlsym() {
        0 => null_mut(),
        // SAFETY: 1. the type of this function in libc's header; 2. the caller's promise.
        address => unsafe { transmute::<usize, Function>(address)(handle, name) },
    }
}

/// The address of libc's dlsym(3).
pub fn libcs_dlsym() -> usize {
    known(&DLSYM, c"dlsym")
}

/// dlvsym(3), in the same way as [`dlsym`].
///
/// # Safety
/// As for [`dlsym`].
#[inline(always)]
pub unsafe fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void {
    type Function = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    match known(&DLVSYM, c"dlvsym") {
        0 => null_mut(),
        // SAFETY: as above.
        address => unsafe { transmute::<usize, Function>(address)(handle, name, version) },
    }
}

/// Whether the address lies in libc.
pub fn is_in_libc(address: usize) -> bool {
    // SAFETY: libc is never closed; the program has found the address of another object in it, so it does not close that.
    unsafe { private::is_libc(object_of(address)) }
}

/// The `link_map` of the object in which the address lies: dladdr1(3). Null if it lies in none.
pub fn object_of(address: usize) -> *const c_void {
    type Function = unsafe extern "C" fn(usize, *mut libc::Dl_info, *mut *const c_void, c_int) -> c_int;
    /// dlfcn.h: the third argument gets the `link_map`.
    const RTLD_DL_LINKMAP: c_int = 2;
    let mut info = MaybeUninit::uninit();
    let mut map = null();
    match known(&DLADDR1, c"dladdr1") {
        0 => {}
        // SAFETY: 1. the type of this function in libc's header; 2. both results are writable.
        function => unsafe {
            transmute::<usize, Function>(function)(address, info.as_mut_ptr(), &mut map, RTLD_DL_LINKMAP);
        },
    }
    map
}
