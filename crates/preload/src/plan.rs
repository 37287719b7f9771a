//! Reads the settings from the environment. Without allocating, at the first call that needs them.

use crate::{environment, swap};
use std::path::Path;
use unspin_sync::atomic::{AtomicU8, Ordering};
use unspin_sysv::Kind;
use unspin_wire::environment::{ARENA, ENGINE_WAKE_UP_NS, RECORD, SYSV, TALLY, WAKE_UP_NS};

/// The engine, or as an error the value of `UNSPIN_SYSV` that names no engine.
pub fn engine() -> Result<Kind, &'static str> {
    let Some(name) = environment::value(SYSV) else { return Ok(Kind::Kernel) };
    let name = core::str::from_utf8(name).unwrap_or("(not UTF-8)");
    name.parse().map_err(|_| name)
}

/// The path of the arena, if `UNSPIN_ARENA` names one.
pub fn arena() -> Option<&'static Path> {
    path(ARENA)
}

/// The cost of a wake-up, if `UNSPIN_ENGINE_WAKEUP_NS` or else `UNSPIN_WAKEUP_NS` states a number.
pub fn wake_up_ns() -> Option<u64> {
    environment::number(ENGINE_WAKE_UP_NS).or_else(|| environment::number(WAKE_UP_NS))
}

/// The path of the recording, if `UNSPIN_RECORD` names one.
pub fn recording() -> Option<&'static Path> {
    path(RECORD)
}

/// Whether this process maps a file that may shrink: a recording or a tally. Decided once, as for [`handlers`].
pub fn maps_files() -> bool {
    const UNKNOWN: u8 = 0;
    const NO: u8 = 1;
    const YES: u8 = 2;
    static DECISION: AtomicU8 = AtomicU8::new(UNKNOWN);
    // Relaxed: as in `handlers`.
    match DECISION.load(Ordering::Relaxed) {
        UNKNOWN => {
            let maps = recording().is_some() || environment::value(TALLY).is_some();
            // Relaxed: as in `handlers`.
            DECISION.store(if maps { YES } else { NO }, Ordering::Relaxed);
            maps
        }
        known => known == YES,
    }
}

/// Whether this library may keep data for each thread: for a recording, for replaced mutexes and waits, or for an
/// engine.
pub fn keeps_thread_data() -> bool {
    recording().is_some() || swap::plan::is_on() || engine() != Ok(Kind::Kernel)
}

fn path(name: &str) -> Option<&'static Path> {
    use std::os::unix::ffi::OsStrExt;
    environment::value(name).map(|bytes| Path::new(std::ffi::OsStr::from_bytes(bytes)))
}

/// What calls the program's signal handlers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Handlers {
    /// The kernel: the engine is the kernel, so there is no critical section of ours, and no wait polls.
    Direct = 1,
    /// Our trampoline, which tells the waits that poll about each handler.
    Counted = 2,
    /// Our trampoline, which asks the engine first. The engine reads the program's memory by loads that may fault. So
    /// the signals of faults always have a trampoline, whatever the program sets.
    Guarded = 3,
}

/// What calls handlers in this process. Decided once: a program that later changes `UNSPIN_SYSV` in its own environment
/// changes it for its children only.
pub fn handlers() -> Handlers {
    const UNKNOWN: u8 = 0;
    static DECISION: AtomicU8 = AtomicU8::new(UNKNOWN);
    // Relaxed: the value guards no other data. A thread that finds it unknown decides the same from the same
    // environment.
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
