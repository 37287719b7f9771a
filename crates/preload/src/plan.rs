//! What the environment asks for. Found out without allocating, on the first call that needs to know.

use crate::environment;
use std::path::Path;
use unspin_sync::atomic::{AtomicU8, Ordering};
use unspin_sysv::Kind;

/// The engine, or the value of `UNSPIN_SYSV` that names none.
pub fn engine() -> Result<Kind, &'static str> {
    let Some(name) = environment::value("UNSPIN_SYSV") else { return Ok(Kind::Kernel) };
    let name = core::str::from_utf8(name).unwrap_or("(not UTF-8)");
    name.parse().map_err(|_| name)
}

/// The arena's file, if `UNSPIN_ARENA` names one.
pub fn arena() -> Option<&'static Path> {
    path("UNSPIN_ARENA")
}

/// The recording, if `UNSPIN_RECORD` names one.
pub fn recording() -> Option<&'static Path> {
    path("UNSPIN_RECORD")
}

fn path(name: &str) -> Option<&'static Path> {
    use std::os::unix::ffi::OsStrExt;
    environment::value(name).map(|bytes| Path::new(std::ffi::OsStr::from_bytes(bytes)))
}

/// Who runs a program's signal handlers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handlers {
    /// The kernel: the engine is the kernel, and has no critical section of ours.
    Direct,
    /// Our trampoline, which asks the engine first.
    Trampolined,
}

/// Who runs handlers in this process. Decided once: a program that later changes `UNSPIN_SYSV` in its own
/// environment means its children.
pub fn handlers() -> Handlers {
    const UNKNOWN: u8 = 0;
    const DIRECT: u8 = 1;
    const TRAMPOLINED: u8 = 2;
    static DECISION: AtomicU8 = AtomicU8::new(UNKNOWN);
    // Relaxed: guards no other data, and whoever finds it unknown decides the same from the same environment.
    let mut decision = DECISION.load(Ordering::Relaxed);
    if decision == UNKNOWN {
        decision = match engine() {
            Ok(Kind::Kernel) | Err(_) => DIRECT,
            Ok(_) => TRAMPOLINED,
        };
        // Relaxed: as for the load.
        DECISION.store(decision, Ordering::Relaxed);
    }
    if decision == TRAMPOLINED { Handlers::Trampolined } else { Handlers::Direct }
}
