//! Frees what this library keeps for a thread when that thread ends.
//!
//! libc calls [`leave`] through a key of thread-specific data ([`unspin_sys::thread_exit`]). If the program needs all
//! keys, it gets that one as well; from then on nothing is freed when a thread ends.

use crate::next::{behind, next};
use crate::{plan, sandbox, swap, waits, watch};
use core::ffi::{c_int, c_void};
use libc::EAGAIN;
use unspin_sys::signal::{Mask, set_mask};
use unspin_sys::thread_exit::{self, ExitHook, call_at_exit};
use unspin_sysv::Kind;

/// Creates the key, if this process may need it: for a recording, for a plan, or for an engine. To be called at the
/// start of the program, when low numbers are free: storing a value under such a key allocates nothing.
pub fn prepare() {
    if plan::recording().is_some()
        || swap::plan::is_on()
        || plan::engine().is_ok_and(|kind| kind != Kind::Kernel)
    {
        thread_exit::reserve();
    }
}

/// Makes libc call `leave` when the calling thread ends.
pub fn expect() {
    call_at_exit(ExitHook::Preload, leave);
}

extern "C-unwind" fn leave() {
    if sandbox::is_closed() {
        return;
    }
    let mask = set_mask(Mask::ALL);
    watch::thread::leave();
    waits::thread::leave();
    set_mask(mask);
}

type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;

/// Defines a function that creates a key. If the next definition answers that there is none left, gives up this
/// library's key, and tries again.
macro_rules! creates_key {
    ($($(#[$doc:meta])* $name:ident fails with $failed:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(key: *mut c_void, destructor: Destructor) -> c_int {
            next! { static NEXT = crate::next::c_name(concat!(stringify!($name), "\0")); }
            let next = behind!(NEXT, unsafe extern "C-unwind" fn(*mut c_void, Destructor) -> c_int);
            // SAFETY: the caller's promise.
            let create = || unsafe { next(key, destructor) };
            match create() {
                $failed if thread_exit::give_up() => create(),
                code => code,
            }
        }
    )*};
}

/// `thrd_error` of threads.h.
const THRD_ERROR: c_int = 2;

creates_key! {
    /// pthread_key_create(3).
    pthread_key_create fails with EAGAIN;
    /// The same, under the name that the C++ runtime uses.
    __pthread_key_create fails with EAGAIN;
    /// tss_create(3).
    tss_create fails with THRD_ERROR;
}
