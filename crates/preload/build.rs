//! Tells the hooks what the compiler makes of them.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(landing_pads)");
    // Values that only assertions and unoptimised code keep have destructors, which need a place to run while a thread is
    // unwound.
    let has_assertions = env::var_os("CARGO_CFG_DEBUG_ASSERTIONS").is_some();
    let is_optimised = env::var("OPT_LEVEL").is_ok_and(|level| !matches!(level.as_str(), "0" | "1"));
    if has_assertions || !is_optimised {
        println!("cargo::rustc-cfg=landing_pads");
    }
}
