//! Tells the hooks what the compiler makes of them, and the linker to which functions the library's own calls lead.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(landing_pads)");
    // A call of a name that the library exports leads to its own hook, also if the program has a function of that name. The
    // names that it does not export: src/private.rs.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    // The names of the libraries that it needs under an old glibc only, which link/unversioned.rs removes, and link/old_glibc.rs does not.
    // The linker does not look for their files.
    println!("cargo::rustc-cdylib-link-arg=-Wl,--auxiliary=libpthread.so.0,--auxiliary=libdl.so.2");
    // Values that only assertions and unoptimised code keep have destructors, which need a place to run while a thread is
    // unwound.
    let has_assertions = env::var_os("CARGO_CFG_DEBUG_ASSERTIONS").is_some();
    let is_optimised = env::var("OPT_LEVEL").is_ok_and(|level| !matches!(level.as_str(), "0" | "1"));
    if has_assertions || !is_optimised {
        println!("cargo::rustc-cfg=landing_pads");
    }
}
