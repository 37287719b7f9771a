//! Linker options of the shared library.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").expect("cargo says so");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libunspin_sysv.so.{major}");
    // A thread that has called an engine runs code of the library when it ends, even after a dlclose.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
