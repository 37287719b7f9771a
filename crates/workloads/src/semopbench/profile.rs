//! The kernel's own profile counters, which readprofile(8) shows and `readprofile -r` resets.

use std::io::Write;

/// Resets the counters, or says on standard error why that cannot be done; the benchmark runs all the same.
pub fn reset() {
    match reset_file("/proc/profile") {
        Ok(()) => eprintln!("semopbench: the kernel's profile counters are reset"),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => eprintln!(
            "semopbench: this kernel keeps no profile counters (it has them when booted with profile=2): \
             nothing to reset"
        ),
        Err(e) => eprintln!("semopbench: the kernel's profile counters cannot be reset: /proc/profile: {e}"),
    }
}

/// Any write to the file resets all counters; a write of one `int` would set the profiling multiplier too
/// (`write_profile` in kernel/profile.c), so one byte it is.
fn reset_file(path: &str) -> std::io::Result<()> {
    std::fs::OpenOptions::new().write(true).open(path)?.write_all(b"\0")
}
