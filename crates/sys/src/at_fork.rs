//! Functions that are called in a child made by libc's fork.

/// Makes libc call `function` in each child, before the fork returns there: pthread_atfork(3). libc may allocate.
pub fn call_in_child(function: unsafe extern "C" fn()) {
    // SAFETY: the function lives as long as this library, which libc identifies by the handle that the linker inserts; it is
    // safe to call, as the callers' functions are.
    unsafe { libc::pthread_atfork(None, None, Some(function)) };
}
