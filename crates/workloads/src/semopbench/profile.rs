//! The kernel's own profile counters, which readprofile(8) shows and `readprofile -r` resets.

use std::io::Write;
use std::path::Path;
use unspin_wire::environment::PROFILE_RESET;

/// Resets the counters: those of `unspin profile`, if the benchmark runs under it; else the kernel's own. If that fails,
/// prints the reason to standard error; the benchmark runs anyway.
pub fn reset() {
    if let Some(file) = std::env::var_os(PROFILE_RESET) {
        match append(file.as_ref()) {
            Ok(()) => eprintln!("semopbench: the ticks of unspin profile are reset"),
            Err(e) => eprintln!("semopbench: the ticks of unspin profile cannot be reset: {e}"),
        }
        return;
    }
    match reset_file("/proc/profile") {
        Ok(()) => eprintln!("semopbench: the kernel's profile counters are reset"),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => eprintln!(
            "semopbench: this kernel keeps no profile counters (it has them when booted with profile=2): \
             nothing to reset; run the benchmark under `unspin profile`"
        ),
        Err(e) => eprintln!("semopbench: the kernel's profile counters cannot be reset: /proc/profile: {e}"),
    }
}

/// `unspin profile` sets its ticks to zero when the file grows, which it looks at a hundred times a second.
fn append(file: &Path) -> std::io::Result<()> {
    std::fs::OpenOptions::new().append(true).open(file)?.write_all(b"\n")
}

/// Any write to the file resets all counters. A write of one `int` would also set the profiling multiplier
/// (`write_profile` in kernel/profile.c), so this writes one byte.
fn reset_file(path: &str) -> std::io::Result<()> {
    std::fs::OpenOptions::new().write(true).open(path)?.write_all(b"\0")
}
