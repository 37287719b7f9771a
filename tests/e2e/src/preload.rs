//! The library under test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// `libunspin_preload.so`, built by cargo in the profile of this test. Cargo gives its lock away while tests
/// run, and what the tests were built from is not built again.
pub fn library() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let profile = if cfg!(debug_assertions) { "dev" } else { "preload" };
        let target = target_directory();
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
        let status = Command::new(cargo)
            .args(["build", "--quiet", "--package", "unspin-preload", "--profile", profile, "--target-dir"])
            .arg(&target)
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

/// The target directory of this workspace: the test program is at `PROFILE/deps/NAME` in it.
pub fn target_directory() -> PathBuf {
    let program = std::env::current_exe().expect("/proc is mounted");
    program.ancestors().nth(3).expect("a test program lies in target/PROFILE/deps").to_path_buf()
}
