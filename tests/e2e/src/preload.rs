//! The library under test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// Names the library that the programs of the tests load.
const CHOICE: &str = "UNSPIN_TEST_LIBRARY";

/// `libunspin_preload.so`: by default as cargo builds it for the tests of its package, with debug assertions; with
/// `UNSPIN_TEST_LIBRARY=embedded` as the `unspin` binary contains it, without. `ci/release.sh` runs the tests with that one.
///
/// # Panics
/// If the variable has another value, or the library does not build.
pub fn library() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| match std::env::var(CHOICE).as_deref() {
        Ok("embedded") => embedded(),
        Ok(other) => panic!("{CHOICE} is {other}: unset it, or set it to embedded"),
        Err(_) => checked(),
    })
}

/// Whether the functions of the library have landing pads, as without optimisation, or with assertions.
pub fn has_landing_pads() -> bool {
    std::env::var_os(CHOICE).is_none() && cfg!(debug_assertions)
}

/// The library beside the test programs. `cargo test` builds it before it runs them; if only these tests are built, a second cargo
/// builds it (cargo releases its lock while tests run).
fn checked() -> PathBuf {
    let program = std::env::current_exe().expect("/proc is mounted");
    let profile =
        program.ancestors().nth(2).and_then(Path::file_name).expect("a test program lies in PROFILE/deps");
    let path = program.with_file_name("libunspin_preload.so");
    if built_at(&path).is_none_or(|built| built < newest_source()) {
        let profile = if profile == "debug" { "dev".as_ref() } else { profile };
        let mut cargo = cargo();
        build(cargo.arg("--profile").arg(profile).arg("--target-dir").arg(target_directory()));
    }
    assert!(path.exists(), "cargo built no {}", path.display());
    path
}

/// The library as the build script of `unspin` builds it; nothing is built twice.
fn embedded() -> PathBuf {
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

fn built_at(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// When the newest source of any crate was changed.
fn newest_source() -> SystemTime {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let mut newest = SystemTime::UNIX_EPOCH;
    let mut unread = vec![crates];
    while let Some(folder) = unread.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())).flatten() {
            let path = entry.path();
            if path.is_dir() {
                // Tests are no part of the library, and programs under test write into their folders.
                unread.extend((path.file_name() != Some("tests".as_ref())).then_some(path));
            } else if path.extension().is_some_and(|end| end == "rs" || end == "toml") {
                newest = built_at(&path).map_or(newest, |changed| newest.max(changed));
            }
        }
    }
    newest
}

/// The target directory of this workspace: the test program is at `PROFILE/deps/NAME` in it.
pub fn target_directory() -> PathBuf {
    let program = std::env::current_exe().expect("/proc is mounted");
    program.ancestors().nth(3).expect("a test program lies in target/PROFILE/deps").to_path_buf()
}
