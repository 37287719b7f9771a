//! What the environment asks for. Found out without allocating, on the first call that needs to know.

use crate::{environment, swap};
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

/// What calls a program's signal handlers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Handlers {
    /// The kernel: the engine is the kernel, and has no critical section of ours, and no wait polls.
    Direct = 1,
    /// Our trampoline, which tells the waits that poll.
    Counted = 2,
    /// Our trampoline, which asks the engine first. The engine reads the program's memory by loads that may fault, so the
    /// signals of faults have a trampoline whatever the program wants.
    Guarded = 3,
}

/// What calls handlers in this process. Decided once: a program that later changes `UNSPIN_SYSV` in its own environment
/// means its children.
pub fn handlers() -> Handlers {
    const UNKNOWN: u8 = 0;
    static DECISION: AtomicU8 = AtomicU8::new(UNKNOWN);
    // Relaxed: guards no other data, and a thread that finds it unknown decides the same from the same environment.
    match DECISION.load(Ordering::Relaxed) {
        1 => Handlers::Direct,
        2 => Handlers::Counted,
        3 => Handlers::Guarded,
        _ => {
            let decision = match engine() {
                Ok(Kind::Kernel) | Err(_) if swap::plan::is_polling() => Handlers::Counted,
                Ok(Kind::Kernel) | Err(_) => Handlers::Direct,
                Ok(_) => Handlers::Guarded,
            };
            // Relaxed: as for the load.
            DECISION.store(decision as u8, Ordering::Relaxed);
            decision
        }
    }
}
