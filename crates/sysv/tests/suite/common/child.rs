//! How a forked child ends.

/// Exit code of a child whose assertion failed.
const PANICKED: i32 = 99;

/// Ends the calling child with what `body` answers. A panic must not go on to the harness, of which the child has a
/// copy that would end well.
pub fn end_with(body: impl FnOnce() -> i32) -> ! {
    let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
    // SAFETY: ends the child without running what belongs to its parent.
    unsafe { libc::_exit(answer.unwrap_or(PANICKED)) }
}
