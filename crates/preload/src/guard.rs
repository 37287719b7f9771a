//! A broken invariant ends the program with one line. No panic unwinds through C.

use crate::notice;

/// Makes every later panic in this library's code an abort.
///
/// The library has its own copy of the standard library: a program in Rust has another panic hook.
pub fn install() {
    // The tests of this crate must be able to fail by a panic.
    if cfg!(test) {
        return;
    }
    std::panic::set_hook(Box::new(|panic| {
        notice::print(format_args!("a bug in unspin itself, the program is aborted: {panic}"));
        std::process::abort();
    }));
}
