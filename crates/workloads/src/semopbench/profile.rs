//! The kernel's own profile counters, which readprofile(8) shows and `readprofile -r` resets.

use std::io::Write;

/// Resets the counters. If that fails, prints the reason to standard error; the benchmark runs anyway.
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

/// Any write to the file resets all counters. A write of one `int` would also set the profiling multiplier
/// (`write_profile` in kernel/profile.c), so this writes one byte.
fn reset_file(path: &str) -> std::io::Result<()> {
    std::fs::OpenOptions::new().write(true).open(path)?.write_all(b"\0")
}
