//! A broken invariant ends the program with one line, never with an unwinding through C.

use crate::notice;

/// Makes every later panic of this library's code an abort.
///
/// The library has its own copy of the standard library, so the hook of a program in Rust is another one.
pub fn install() {
    // The tests of this crate must be able to fail.
    if cfg!(test) {
        return;
    }
    std::panic::set_hook(Box::new(|panic| {
        notice::print(format_args!("a bug in unspin itself, the program is aborted: {panic}"));
        std::process::abort();
    }));
}
