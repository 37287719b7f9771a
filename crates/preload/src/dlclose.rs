//! dlclose(3): the next definition unloads the library. Other code may be mapped at its addresses later, so what this
//! library knows about code is forgotten.

use crate::next::forward;
use crate::swap;
use crate::watch::modules;
use core::ffi::{c_int, c_void};

fn forget_code(answer: c_int) -> c_int {
    modules::forget();
    swap::forget_modules();
    answer
}

forward! { forget_code =>
    /// dlclose(3).
    fn dlclose(handle: *mut c_void) -> c_int;
}
