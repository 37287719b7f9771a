//! Opens the engine, once per process image and IPC namespace.
//!
//! This library's constructor opens it, so that the arena is mapped before `main` can give up the right to open it.
//! Constructors of other libraries run earlier, and may start threads that call semop. Then the first such call opens
//! the engine, and the other threads wait. An error is kept, and reported at the first System V call: a program that
//! makes no such call is not bothered with it.
//!
//! A thread that moves to another IPC namespace ([`moved`]) finds other objects there. If it is the only thread, the
//! whole process moves with it, as threads created later are in its namespace too. Otherwise it moves alone, and a
//! thread-local word ([`Word::Home`]) says so. Threads that it creates afterwards use the engine of the process.

use crate::watch::recording;
use crate::{cancel, departure, guard, next, notice, plan, sandbox, signal, swap, waits, watch};
use core::fmt;
use core::ptr::null_mut;
use std::path::PathBuf;
use unspin_sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use unspin_sys::namespace::{Ipc, Relation};
use unspin_sys::process::{self, Identity, Life};
use unspin_sys::signal::Mask;
use unspin_sys::tls::{self, Word};
use unspin_sys::{Errno, sched};
use unspin_sysv::{ArenaError, Engine, Options};

/// The engine for one IPC namespace. Never freed: threads refer to it until they end.
struct Home {
    namespace: Ipc,
    /// The path of its arena, if it has one.
    arena: PathBuf,
    /// The engine, or the reason why it could not be opened.
    engine: Result<Engine, String>,
    /// The one created before it. Written before other threads can see this one.
    older: AtomicPtr<Home>,
}

/// The engine of the process; null until it is opened, and again when the process has moved to another namespace.
static HOME: AtomicPtr<Home> = AtomicPtr::new(null_mut());
/// List of all that were created: a namespace to which a thread returns needs no second mapping.
static HOMES: AtomicPtr<Home> = AtomicPtr::new(null_mut());
/// The thread id of the thread that is opening the engine of the process, 0 if there is none.
static OPENER: AtomicU32 = AtomicU32::new(0);

/// Values of a thread's [`Word::Home`]; any other value is the address of the thread's own [`Home`]. Zero: the thread
/// uses the engine of the process.
const AS_THE_PROCESS: usize = 0;
/// The thread's own engine must still be opened.
const TO_BE_OPENED: usize = 1;

#[cfg(not(test))]
#[used]
// SAFETY: the section holds functions that the dynamic linker calls once, after it has relocated the library.
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = construct;

#[cfg(not(test))]
#[used]
// SAFETY: the section holds functions that libc calls once, at exit(3).
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destruct;

/// Records that the program is alive at its end: a reader of the recording of a killed meter needs the time of the end.
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

/// The engine, if it is open. Every System V call asks this first.
#[inline(always)]
pub fn opened() -> Option<&'static Engine> {
    home()?.engine.as_ref().ok()
}

#[inline(always)]
fn home() -> Option<&'static Home> {
    let home = match tls::value::<{ Word::Home as usize }>() {
        // Acquire: pairs with the Release store in `settle_process`, so that the thread sees the contents as they were
        // written.
        AS_THE_PROCESS => HOME.load(Ordering::Acquire),
        TO_BE_OPENED => return None,
        own => own as *mut Home,
    };
    // SAFETY: null, or what `find_or_open` made, which is never freed.
    unsafe { home.as_ref() }
}

/// The engine; it is opened now if necessary. If it cannot be opened: ENOSYS, as from a kernel built without System V
/// IPC, and the first time a line on standard error.
pub fn engine() -> Result<&'static Engine, Errno> {
    match opened() {
        Some(engine) => Ok(engine),
        None => first_call(),
    }
}

#[cold]
fn first_call() -> Result<&'static Engine, Errno> {
    let home = home().or_else(settle).ok_or(Errno::EAGAIN)?;
    home.engine.as_ref().map_err(|reason| {
        say_once(format_args!("{reason}"));
        Errno::ENOSYS
    })
}

/// Reports that calls fail because the arena was damaged, if that is the reason.
#[cold]
pub fn say_if_damaged() {
    if let Some(Home { arena, engine: Ok(engine), .. }) = home()
        && engine.is_damaged()
    {
        say_once(format_args!(
            "arena {0}: was cut short or overwritten while it was in use; `unspin arenas remove {0}` removes it when no \
             program uses it",
            arena.display()
        ));
    }
}

/// Prints the reason once. Calls fail, and the files in `/proc/sysvipc` do not exist (see `proc`).
fn say_once(reason: fmt::Arguments<'_>) {
    static SAID: AtomicBool = AtomicBool::new(false);
    // Relaxed: only the order of the exchanges matters.
    if !SAID.swap(true, Ordering::Relaxed) {
        notice::print(format_args!(
            "{reason}; System V calls fail with ENOSYS, as on a kernel without System V IPC"
        ));
    }
}

/// Opens the engine for the calling thread, unless it is open. `None`: this very thread is opening it further up its
/// stack.
fn settle() -> Option<&'static Home> {
    // Signals are blocked: no handler may interrupt this thread half-way and call semop, which needs the open engine.
    let mask = unspin_sys::signal::set_mask(Mask::ALL_BUT_FAULTS);
    let home = match tls::word(Word::Home).get() {
        TO_BE_OPENED => {
            let home = find_or_open();
            tls::word(Word::Home).set(&raw const *home as usize);
            Some(home)
        }
        _ => settle_process(),
    };
    unspin_sys::signal::set_mask(mask);
    home
}

fn settle_process() -> Option<&'static Home> {
    let me = process::tid();
    loop {
        if let Some(home) = home() {
            return Some(home);
        }
        // Acquire: pairs with the Release store below: a thread that succeeds after another opener sees that the engine
        // is open.
        match OPENER.compare_exchange(0, me, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => {
                let home = home().unwrap_or_else(|| {
                    prepare();
                    find_or_open()
                });
                // Release: pairs with the Acquire load in `home`.
                HOME.store((&raw const *home).cast_mut(), Ordering::Release);
                OPENER.store(0, Ordering::Release);
            }
            Err(opener) if opener == me => return None,
            Err(opener) => wait_for(opener),
        }
    }
}

/// Lets the opener run. If the opener is not a thread of this process, clears `OPENER`: that happens in a child that
/// another thread forked in the meantime.
fn wait_for(opener: u32) {
    let opener_here = Identity { pid: process::pid(), tid: opener, ..Identity::default() };
    if opener_here.life() == Life::Dead {
        // Relaxed: the thread that succeeds opens the engine anew, and does not rely on what the lost opener wrote.
        let _ = OPENER.compare_exchange(opener, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
    sched::give_way();
}

/// Prepares what else this library needs before the program begins.
fn prepare() {
    static DONE: AtomicBool = AtomicBool::new(false);
    // Relaxed: only the thread that holds `OPENER` gets here.
    if !DONE.swap(true, Ordering::Relaxed) {
        guard::install();
        next::prepare();
        departure::prepare();
        watch::prepare();
        swap::prepare();
        waits::prepare();
        signal::activate();
        cancel::prepare();
    }
}

/// The engine for the calling thread's namespace.
fn find_or_open() -> &'static Home {
    let namespace = Ipc::current();
    let known = homes().find(|home| home.namespace.relation(&namespace) == Relation::Same);
    known.unwrap_or_else(|| keep(open(namespace)))
}

fn homes() -> impl Iterator<Item = &'static Home> {
    core::iter::successors(behind(&HOMES), |home| behind(&home.older))
}

fn behind(link: &AtomicPtr<Home>) -> Option<&'static Home> {
    // Acquire: pairs with the Release stores in `keep`.
    let home = link.load(Ordering::Acquire);
    // SAFETY: null, or what `keep` leaked.
    unsafe { home.as_ref() }
}

fn keep(home: Home) -> &'static Home {
    let home: &'static Home = Box::leak(Box::new(home));
    // Relaxed: the exchange fails if it is not the latest.
    let mut latest = HOMES.load(Ordering::Relaxed);
    loop {
        home.older.store(latest, Ordering::Release);
        // Release: pairs with the Acquire in `homes`. Relaxed: as above.
        let new = (&raw const *home).cast_mut();
        match HOMES.compare_exchange(latest, new, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return home,
            Err(now) => latest = now,
        }
    }
}

/// Opens the engine that the environment names, or keeps the reason why that failed.
fn open(namespace: Ipc) -> Home {
    let kind = plan::engine();
    let arena = match (plan::arena(), kind) {
        (Some(path), _) => path.to_path_buf(),
        (None, Ok(kind)) => Engine::default_arena(kind),
        (None, Err(_)) => PathBuf::new(),
    };
    let engine = match kind {
        Ok(kind) => {
            let opened = Engine::open(kind, &arena, &Options::default(), recording::wait());
            opened.map_err(|error| format!("{error}; {}", remedy(&error)))
        }
        Err(name) => Err(format!("UNSPIN_SYSV names no engine: {name:?}; set it to kernel, global or rcu")),
    };
    Home { namespace, arena, engine, older: AtomicPtr::default() }
}

/// What the user can do about an arena that cannot be used. `unspin run` has opened it successfully: it was damaged
/// since then, or this program runs as another user or with other limits.
fn remedy(error: &ArenaError) -> &'static str {
    match error {
        ArenaError::NotOurs(_) => "let its owner open it, or name another to `unspin run --arena`",
        _ => "name another to `unspin run --arena`",
    }
}

/// When to open the engine of a namespace that a thread has moved to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opening {
    /// At once: the thread may be about to change to a user that has no right to open it.
    AtOnce,
    /// At the first call: the user ids of the new user namespace are not mapped yet.
    AtFirstCall,
}

/// To be called after the calling thread may have moved to another IPC namespace, with signals blocked.
pub fn moved(opening: Opening) {
    let Some(left) = home() else { return };
    if left.namespace.relation(&Ipc::current()) == Relation::Same {
        return;
    }
    if let Ok(engine) = &left.engine {
        engine.leave();
    }
    if process::thread_count() <= 1 {
        tls::word(Word::Home).set(AS_THE_PROCESS);
        // Release: no other thread of this process exists that could read it.
        HOME.store(null_mut(), Ordering::Release);
    } else {
        tls::word(Word::Home).set(TO_BE_OPENED);
    }
    if opening == Opening::AtOnce {
        settle();
    }
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
