//! What the linker is to know of the shared library.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").expect("cargo says so");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libunspin_sysv.so.{major}");
    // Each thread that has called an engine runs code of the library when it ends, also after a dlclose.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
