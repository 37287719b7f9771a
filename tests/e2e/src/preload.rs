//! The library under test.

use crate::kept;
use crate::target::target_directory;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

#[path = "../../../crates/preload/link/unversioned.rs"]
mod unversioned;

/// Names the library that the programs of the tests load.
const CHOICE: &str = "UNSPIN_TEST_LIBRARY";

/// `libunspin_preload.so`, built by cargo: by default in the profile of the tests, with debug assertions; with
/// `UNSPIN_TEST_LIBRARY=embedded` as the `unspin` binary contains it, without. `ci/release.sh` runs the tests with that one.
///
/// # Panics
/// If the variable has another value, or the library does not build.
pub fn library() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        finish(&match std::env::var(CHOICE).as_deref() {
            Ok("embedded") => build_embedded(),
            Ok(other) => panic!("{CHOICE} is {other}: unset it, or set it to embedded"),
            Err(_) => build_checked(),
        })
    })
}

/// A copy as the build script of `unspin` finishes it.
fn finish(linked: &Path) -> PathBuf {
    let bytes = std::fs::read(linked).unwrap_or_else(|e| panic!("{}: {e}", linked.display()));
    let bytes = unversioned::without_versions(bytes).expect("the linker has made it");
    let kept = kept::place("preload", &[&bytes]);
    let hash = kept.file_name().expect("it is a file").display().to_string();
    let finished = kept.with_file_name(format!("libunspin_preload-{hash}.so"));
    if !finished.exists() {
        kept::keep(&finished, |file| std::fs::write(file, &bytes))
            .unwrap_or_else(|e| panic!("{}: {e}", finished.display()));
    }
    finished
}

/// Whether the functions of the library have landing pads, as without optimisation, or with assertions.
pub fn has_landing_pads() -> bool {
    std::env::var_os(CHOICE).is_none() && cfg!(debug_assertions)
}

/// The library in the profile of this test program. Cargo releases its lock while tests run, and builds only what has changed.
fn build_checked() -> PathBuf {
    let folder = target_directory().join(profile_folder());
    let profile = if profile_folder() == "debug" { "dev".to_owned() } else { profile_folder() };
    build(cargo().arg("--profile").arg(profile).arg("--target-dir").arg(target_directory()));
    let path = folder.join("libunspin_preload.so");
    assert!(path.exists(), "cargo built no {}", path.display());
    path
}

/// The folder of a profile: the test program is at `PROFILE/deps/NAME` in the target directory.
pub fn profile_folder() -> String {
    let program = std::env::current_exe().expect("/proc is mounted");
    let folder =
        program.ancestors().nth(2).and_then(Path::file_name).expect("a test program lies in PROFILE/deps");
    folder.to_string_lossy().into_owned()
}

/// The library as the build script of `unspin` builds it; nothing is built twice.
fn build_embedded() -> PathBuf {
    let target = target_directory().join("embedded");
    build(
        cargo()
            .args(["--profile", "preload", "--target-dir"])
            .arg(&target)
            .env("CARGO_PROFILE_PRELOAD_DEBUG", "none"),
    );
    target.join("preload/libunspin_preload.so")
}

fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into()));
    cargo.args(["build", "--quiet", "--package", "unspin-preload", "--lib"]);
    cargo
}

fn build(cargo: &mut Command) {
    let status =
        cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo, which runs this test, starts");
    assert!(status.success(), "the preload library does not build");
}
