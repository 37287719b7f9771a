//! Opening the engine, once per process image.
//!
//! The constructor of this library does it, so that the arena is mapped before `main` can give up the right to
//! open it. Constructors of other libraries run earlier, and may start threads that call semop: then the first
//! such call does it, and the others wait. What goes wrong is kept, and said at the first semaphore call: a
//! program that has no use for semaphores never hears of it.

use crate::watch::recording;
use crate::{guard, next, notice, plan, sandbox, signal, swap, watch};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use std::sync::OnceLock;
use unspin_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use unspin_sys::process::{self, Identity, Life};
use unspin_sys::signal::Mask;
use unspin_sys::{Errno, sched};
use unspin_sysv::{Engine, Options};

/// Nobody has begun.
const CLOSED: u32 = 0;
/// [`ENGINE`] holds an engine.
const OPEN: u32 = 1;
/// There is no engine; [`NOTICE`] says why.
const FAILED: u32 = 2;
/// With this bit, the rest is the id of the thread that is opening.
const OPENING: u32 = 1 << 31;

/// CLOSED -> OPENING by whoever comes first; OPENING -> OPEN or FAILED by the same thread, or -> CLOSED by anybody who
/// finds that this thread did not come along through a fork.
static PHASE: AtomicU32 = AtomicU32::new(CLOSED);
static ENGINE: Slot = Slot(UnsafeCell::new(MaybeUninit::uninit()));
static NOTICE: OnceLock<String> = OnceLock::new();

struct Slot(UnsafeCell<MaybeUninit<Engine>>);

// SAFETY: written by the one thread that moved PHASE to OPENING, read only after PHASE says OPEN; an `Engine`
// is Sync.
unsafe impl Sync for Slot {}

#[cfg(not(test))]
#[used]
// SAFETY: the section holds functions that the dynamic linker calls once, when it has relocated the library.
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = construct;

#[cfg(not(test))]
#[used]
// SAFETY: the section holds functions that libc calls once, at exit(3).
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destruct;

/// Whoever reads the recording of a meter that was killed wants to know when the program ended.
#[cfg_attr(test, expect(dead_code, reason = "tests do not end"))]
extern "C" fn destruct() {
    if let Some(recording) = recording::get().filter(|_| !sandbox::is_closed()) {
        recording.beat();
    }
}

#[cfg_attr(test, expect(dead_code, reason = "tests open the engine by their first call"))]
extern "C" fn construct() {
    settle();
}

/// The engine, once it is open: what every semaphore call asks first.
#[inline(always)]
pub fn opened() -> Option<&'static Engine> {
    // Acquire: pairs with the Release store in `settle`, so that the engine is seen as it was written.
    if PHASE.load(Ordering::Acquire) == OPEN {
        // SAFETY: PHASE is OPEN, so the slot was initialised, and nobody writes it any more.
        return Some(unsafe { (*ENGINE.0.get()).assume_init_ref() });
    }
    None
}

/// The engine, opened now if it must be; ENOSYS, as from a kernel built without System V IPC, if it cannot be
/// opened, and a line on standard error the first time.
pub fn engine() -> Result<&'static Engine, Errno> {
    match opened() {
        Some(engine) => Ok(engine),
        None => first_call(),
    }
}

#[cold]
fn first_call() -> Result<&'static Engine, Errno> {
    let phase = settle();
    if phase == FAILED {
        say_once();
    }
    match phase {
        FAILED => Err(Errno::ENOSYS),
        CLOSED => Err(Errno::EAGAIN),
        // SAFETY: the two other phases that `settle` answers mean an initialised slot.
        _ => Ok(unsafe { (*ENGINE.0.get()).assume_init_ref() }),
    }
}

fn say_once() {
    static SAID: AtomicBool = AtomicBool::new(false);
    // Relaxed: only the question who came first matters; `settle` has acquired the text.
    if !SAID.swap(true, Ordering::Relaxed)
        && let Some(text) = NOTICE.get()
    {
        notice::print(format_args!("{text}"));
    }
}

/// Opens the engine unless that was tried, and answers the phase afterwards: one of the named ones. CLOSED
/// means that this very thread is opening it further up its stack.
fn settle() -> u32 {
    // A handler of this thread that called semop half-way through would wait for itself.
    let mask = unspin_sys::signal::set_mask(Mask::ALL);
    let me = OPENING | process::tid();
    let phase = loop {
        // Acquire: pairs with the Release store below, as in `opened`.
        match PHASE.compare_exchange(CLOSED, me, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => {
                let phase = open();
                // Release: pairs with the Acquire loads in `opened` and above; publishes ENGINE and NOTICE.
                PHASE.store(phase, Ordering::Release);
                break phase;
            }
            Err(done @ (OPEN | FAILED)) => break done,
            Err(opener) if opener == me => break CLOSED,
            Err(opener) => wait_for(opener),
        }
    };
    unspin_sys::signal::set_mask(mask);
    phase
}

/// Lets the opener run; gives its place free if it is not a thread of this process, which happens in a child
/// that was forked meanwhile by another thread.
fn wait_for(opener: u32) {
    let opener_here = Identity { pid: process::pid(), tid: opener & !OPENING, ..Identity::default() };
    if opener_here.life() == Life::Dead {
        // Relaxed: whoever succeeds begins anew, and trusts nothing that the lost one wrote.
        let _ = PHASE.compare_exchange(opener, CLOSED, Ordering::Relaxed, Ordering::Relaxed);
    }
    sched::yield_now();
}

/// Opens what the environment asks for and answers the phase that this leads to.
fn open() -> u32 {
    guard::install();
    next::prepare();
    watch::prepare();
    swap::prepare();
    signal::activate();
    let engine = match engine_by_plan() {
        Ok(engine) => engine,
        Err(reason) => {
            let _ = NOTICE.set(format!("{reason}; System V semaphore calls fail with ENOSYS"));
            return FAILED;
        }
    };
    // SAFETY: PHASE says OPENING with our id: nobody else writes, and nobody reads yet.
    unsafe { (*ENGINE.0.get()).write(engine) };
    OPEN
}

/// The engine, or why there is none.
fn engine_by_plan() -> Result<Engine, String> {
    let kind = plan::engine()
        .map_err(|name| format!("UNSPIN_SYSV names no engine: {name:?}; set it to kernel, global or rcu"))?;
    let arena = match plan::arena() {
        Some(path) => path.to_path_buf(),
        None => Engine::default_arena(kind),
    };
    Engine::open(kind, &arena, &Options::default(), recording::wait()).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_sysv::Kind;

    #[test]
    fn without_a_wish_it_is_the_kernel() {
        assert_eq!(engine().unwrap().kind(), Kind::Kernel);
    }
}
