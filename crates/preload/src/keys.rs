//! Keys of thread-specific data. This library may have one ([`departure`](crate::departure)); a program that needs all
//! keys gets that one as well.

use crate::next::{behind, c_name, next};
use core::ffi::{c_int, c_void};
use libc::EAGAIN;
use unspin_sys::thread_exit;

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
            next! { static NEXT = c_name(concat!(stringify!($name), "\0")); }
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
    /// pthread_key_create(3), under the name that the C++ runtime uses.
    __pthread_key_create fails with EAGAIN;
    /// tss_create(3).
    tss_create fails with THRD_ERROR;
}
