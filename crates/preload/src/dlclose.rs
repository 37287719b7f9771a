//! Unloading: the next definition does it; what comes into the place of the code that went is other code.

use crate::next::forward;
use crate::swap;
use crate::watch::modules;
use core::ffi::{c_int, c_void};

fn forgotten(answer: c_int) -> c_int {
    modules::forget();
    swap::forget_modules();
    answer
}

forward! { forgotten =>
    /// dlclose(3).
    fn dlclose(handle: *mut c_void) -> c_int;
}
