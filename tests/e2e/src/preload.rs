//! The library under test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// `libunspin_preload.so`, built by cargo: with debug assertions, or just as the `unspin` binary contains it. Cargo releases its
/// lock while tests run, and builds only what has changed.
pub fn library() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let (profile, target) = library_profile();
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
        let status = Command::new(cargo)
            .args(["build", "--quiet", "--package", "unspin-preload", "--profile", profile, "--target-dir"])
            .arg(&target)
            .env("CARGO_PROFILE_PRELOAD_DEBUG", "none")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo, which runs this test, starts");
        assert!(status.success(), "the preload does not build");
        let directory = if profile == "dev" { "debug" } else { profile };
        let path = target.join(directory).join("libunspin_preload.so");
        assert!(path.exists(), "cargo built no {}", path.display());
        path
    })
}

/// The profile of the libraries under test, and the target directory for it. Without debug assertions both are those in which the
/// build script of `unspin` builds the library (with `CARGO_PROFILE_PRELOAD_DEBUG=none`), so nothing is built twice.
pub fn library_profile() -> (&'static str, PathBuf) {
    match cfg!(debug_assertions) {
        true => ("dev", target_directory()),
        false => ("preload", target_directory().join("embedded")),
    }
}

/// The target directory of this workspace: the test program is at `PROFILE/deps/NAME` in it.
pub fn target_directory() -> PathBuf {
    let program = std::env::current_exe().expect("/proc is mounted");
    program.ancestors().nth(3).expect("a test program lies in target/PROFILE/deps").to_path_buf()
}
