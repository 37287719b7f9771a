//! Compiles the schedulers, with the feature `bpf`.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Debian's clang: the newest first.
const CLANG: [&str; 6] = ["clang-21", "clang-20", "clang-19", "clang-18", "clang-17", "clang-16"];

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CLANG");
    if env::var_os("CARGO_FEATURE_BPF").is_none() {
        return;
    }
    let headers = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys tells where the headers of libbpf are");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let clang = clang();
    for scheduler in ["global", "mq"] {
        compile(&clang, &headers, scheduler, &Path::new(&out).join(format!("{scheduler}.bpf.o")));
    }
}

/// The compiler: that of the variable `CLANG`, or the newest one that is installed.
fn clang() -> String {
    if let Ok(clang) = env::var("CLANG") {
        return clang;
    }
    let works = |name: &str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    let found = CLANG.iter().find(|name| works(name));
    found.unwrap_or_else(|| panic!("no clang: install clang-19 (16 at least), or set CLANG")).to_string()
}

fn compile(clang: &str, headers: &str, scheduler: &str, object: &Path) {
    let arch = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("aarch64") => "arm64",
        _ => "x86",
    };
    let status = Command::new(clang)
        .args(["-g", "-O2", "-Wall", "-Werror", "-Wno-missing-declarations", "-target", "bpf", "-c"])
        .args([
            format!("-D__TARGET_ARCH_{arch}"),
            format!("-I{headers}"),
            format!("bpf/{scheduler}.bpf.c"),
            "-o".into(),
        ])
        .arg(object)
        .status()
        .unwrap_or_else(|e| panic!("{clang} cannot be executed: {e}: install clang-19, or set CLANG"));
    if !status.success() {
        // Not the object of an earlier build.
        let _ = fs::remove_file(object);
        panic!("{clang} does not compile bpf/{scheduler}.bpf.c: its messages are above");
    }
}
