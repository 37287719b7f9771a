//! Builds the preload library that the binary contains, and records the commit of the build.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[path = "../preload/link/old_glibc.rs"]
mod old_glibc;
#[path = "../preload/link/unversioned.rs"]
mod unversioned;

fn main() {
    let workspace = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..").canonicalize().unwrap();
    rerun_if_sources_change(&workspace);
    let library = build_preload(&workspace);
    let bytes = std::fs::read(&library).unwrap_or_else(|e| panic!("{}: {e}", library.display()));
    println!("cargo::rustc-env=UNSPIN_PRELOAD_FILE={}", library.display());
    println!("cargo::rustc-env=UNSPIN_PRELOAD_HASH={}", hex(&Sha256::digest(&bytes)));
    println!("cargo::rustc-env=UNSPIN_COMMIT={}", commit(&workspace));
}

/// The library is rebuilt if its crate or a crate on which it depends changes, but not for changed tests.
fn rerun_if_sources_change(workspace: &Path) {
    for path in ["Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(path).display());
    }
    for name in closure(workspace, "preload") {
        let folder = workspace.join("crates").join(&name);
        // Cargo takes a file that is not there for one that has changed.
        for path in ["Cargo.toml", "build.rs", "link", "src"]
            .map(|path| folder.join(path))
            .iter()
            .filter(|p| p.exists())
        {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}

/// Folders below `crates` of a crate and of its dependencies in this workspace, including those for tests. The crate
/// `unspin-NAME` is in the folder `NAME`.
fn closure(workspace: &Path, of: &str) -> BTreeSet<String> {
    let (mut known, mut unread) = (BTreeSet::new(), vec![of.to_owned()]);
    while let Some(name) = unread.pop() {
        let manifest = workspace.join("crates").join(&name).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap_or_else(|e| panic!("{}: {e}", manifest.display()));
        if known.insert(name) {
            let dependencies = text.lines().filter_map(|line| line.strip_prefix("unspin-")?.split_once(' '));
            unread.extend(dependencies.map(|(name, _)| name.to_owned()));
        }
    }
    known
}

/// Runs a second cargo, because stable cargo cannot build a dependency as a cdylib. It has its own target folder, because the
/// outer cargo has locked its own. All profiles share it: the library is always built in the profile that inlines the engine,
/// because times of an engine with debug assertions are meaningless.
fn build_preload(workspace: &Path) -> PathBuf {
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    // The target folder, above PROFILE/build/PACKAGE/out.
    let target =
        out.ancestors().nth(4).expect("cargo's folder for what build scripts write").join("embedded");
    let mut cargo = Command::new(env::var("CARGO").unwrap());
    for (name, _) in env::vars_os() {
        if leaks(&name.to_string_lossy()) {
            cargo.env_remove(name);
        }
    }
    if let Some(remapped) = remapped_paths() {
        cargo.env("CARGO_ENCODED_RUSTFLAGS", remapped);
    }
    let status = cargo
        .args(["build", "--profile", "preload", "--package", "unspin-preload", "--lib", "--target-dir"])
        .arg(&target)
        .current_dir(workspace)
        .env("CARGO_PROFILE_PRELOAD_DEBUG", "none")
        .status()
        .expect("cargo can be started");
    assert!(status.success(), "the preload library cannot be built: see above");
    // A copy, so that a later build of the library does not change the one that an existing binary contains.
    let library = out.join("libunspin_preload.so");
    let linked = fs::read(target.join("preload/libunspin_preload.so")).expect("cargo has built it");
    keep_for_old_glibc(&linked, &out.join("for-old-glibc"));
    let bytes = unversioned::without_versions(linked).expect("the linker has made it");
    fs::write(&library, bytes).expect("the library can be copied");
    library
}

/// Writes in which bytes the library for an old glibc differs: eight with their offset, then they themselves.
fn keep_for_old_glibc(linked: &[u8], file: &Path) {
    let (at, section) =
        old_glibc::dynamic_section_for_old_glibc(linked).expect("the linker has left the names");
    fs::write(file, [&(at as u64).to_le_bytes(), section.as_slice()].concat())
        .expect("the bytes can be written");
    println!("cargo::rustc-env=UNSPIN_PRELOAD_FOR_OLD_GLIBC={}", file.display());
}

/// Whether a variable is a setting of the outer build: flags, wrappers (such as clippy's), features and profile. Settings of
/// registry and network are kept.
fn leaks(name: &str) -> bool {
    let kept = [
        "CARGO",
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_NET_",
        "CARGO_REGISTRY_",
        "CARGO_REGISTRIES_",
        "CARGO_SOURCE_",
    ];
    let dropped =
        ["RUSTFLAGS", "RUSTDOCFLAGS", "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "TARGET"];
    let prefixed = |prefix: &&str| prefix.ends_with('_') && name.starts_with(*prefix) || *prefix == name;
    let cargo = name.starts_with("CARGO_") && !kept.iter().any(prefixed);
    cargo || dropped.contains(&name) || name.starts_with("CLIPPY_") || name.starts_with("__CARGO_")
}

/// The flags of the outer build by which paths of this machine do not become part of what is built, in the form that cargo passes on.
/// They are the only flags that the library gets. None if there are none.
fn remapped_paths() -> Option<String> {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let remaps: Vec<&str> =
        flags.split('\u{1f}').filter(|flag| flag.starts_with("--remap-path-prefix=")).collect();
    (!remaps.is_empty()).then(|| remaps.join("\u{1f}"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The output of `git describe`, or "unknown" outside a repository.
fn commit(workspace: &Path) -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(workspace).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let log = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|log| Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["describe", "--always", "--dirty", "--abbrev=12"]).unwrap_or_else(|| "unknown".into())
}
