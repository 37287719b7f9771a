//! Tools and rights that a machine may lack.

use std::path::PathBuf;

/// Says in the test's output why a test does nothing here. The line is written past the capturing of the test
/// harness, so that a run in which tests were skipped shows it.
pub fn skip(test: &str, reason: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {reason}");
}

/// Whether the test runs as root, which changing the user needs.
pub fn is_root() -> bool {
    // SAFETY: takes nothing, cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// A command of the search path.
pub fn find_tool(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// A shared library in one of the usual places.
pub fn shared_library(name: &str) -> Option<PathBuf> {
    ["/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"]
        .into_iter()
        .map(|dir| PathBuf::from(dir).join(name))
        .find(|path| path.is_file())
}
