//! Compresses the debug sections of a release: they are three quarters of its bytes, and read only when unspin panics.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("PROFILE").is_some_and(|profile| profile == "release") {
        // Not zstd, which the standard library of every toolchain need not unpack for a backtrace.
        println!("cargo::rustc-link-arg-bins=-Wl,--compress-debug-sections=zlib");
    }
}
