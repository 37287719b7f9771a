//! Opens the engine, once per process image and IPC namespace.
//!
//! This library's constructor opens it, so that the arena is mapped before `main` can give up the right to open it.
//! Constructors of other libraries run earlier, and may start threads that call semop. Then the first such call opens
//! the engine, and the other threads wait. An error is kept, and reported at the first System V call: a program that
//! makes no such call is not bothered with it.
//!
//! A thread that moves to another IPC namespace ([`moved`]) finds other objects there. If it is the only thread, the
//! whole process moves with it, as threads created later are in its namespace too. Otherwise it moves alone, and a
//! thread-local word ([`Word::Engine`]) says so. Threads that it creates afterwards use the engine of the process.

use crate::claim::{self, Claim, Claimed};
use crate::watch::recording;
use crate::{
    cancel, departure, guard, lookup, next, notice, plan, sandbox, signal, summary, swap, waits, watch,
};
use core::fmt;
use core::ptr::null_mut;
use std::path::PathBuf;
use unspin_sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use unspin_sys::Errno;
use unspin_sys::namespace::{Ipc, Relation};
use unspin_sys::process;
use unspin_sys::signal::Mask;
use unspin_sys::tls::{self, Word};
use unspin_sysv::{ArenaError, Engine, Kind, Options};
use unspin_wire::environment::SYSV;

/// The engine for one IPC namespace. Never freed: threads refer to it until they end.
struct NamespaceEngine {
    namespace: Ipc,
    /// The path of its arena, if it has one.
    arena: PathBuf,
    /// The engine, or the reason why it could not be opened.
    engine: Result<Engine, String>,
    /// The one created before it. Written before other threads can see this one.
    older: AtomicPtr<NamespaceEngine>,
}

/// The engine of the process; null until it is opened, and again when the process has moved to another namespace.
static OF_PROCESS: AtomicPtr<NamespaceEngine> = AtomicPtr::new(null_mut());
/// List of all that were created: a namespace to which a thread returns needs no second mapping.
static ALL: AtomicPtr<NamespaceEngine> = AtomicPtr::new(null_mut());
/// The claim of the thread that is opening the engine of the process.
static OPENING: Claim = Claim::free();

/// Values of a thread's [`Word::Engine`]; any other value is the address of the thread's own [`NamespaceEngine`]. Zero:
/// the thread uses the engine of the process.
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

/// Records that the program is alive at its end: a reader of the recording of a killed meter needs the time of the end. Prints what
/// the plan replaced, if the user wants to know that.
#[cfg_attr(test, expect(dead_code, reason = "tests do not end"))]
extern "C" fn destruct() {
    if let Some(recording) = recording::get().filter(|_| !sandbox::is_closed()) {
        recording.update_last_seen();
    }
    summary::print();
}

#[cfg_attr(test, expect(dead_code, reason = "tests open the engine by their first call"))]
extern "C" fn construct() {
    init_once();
}

/// The engine, if it is open. Every System V call asks this first.
#[inline(always)]
pub fn find_open_engine() -> Option<&'static Engine> {
    namespace_engine()?.engine.as_ref().ok()
}

#[inline(always)]
fn namespace_engine() -> Option<&'static NamespaceEngine> {
    let found = match tls::value::<{ Word::Engine as usize }>() {
        // Acquire: pairs with the Release store in `open_for_process`, so that the thread sees the contents as they were
        // written.
        AS_THE_PROCESS => OF_PROCESS.load(Ordering::Acquire),
        TO_BE_OPENED => return None,
        own => own as *mut NamespaceEngine,
    };
    // SAFETY: null, or what `find_or_open` made, which is never freed.
    unsafe { found.as_ref() }
}

/// The engine; it is opened now if necessary. If it cannot be opened: ENOSYS, as from a kernel built without System V
/// IPC, and the first time a line on standard error.
pub fn engine() -> Result<&'static Engine, Errno> {
    match find_open_engine() {
        Some(engine) => Ok(engine),
        None => first_call(),
    }
}

#[cold]
fn first_call() -> Result<&'static Engine, Errno> {
    let found = namespace_engine().or_else(init_once).ok_or(Errno::EAGAIN)?;
    found.engine.as_ref().map_err(|reason| {
        say_once(format_args!("{reason}"));
        Errno::ENOSYS
    })
}

/// Reports that calls fail because the arena was damaged, if that is the reason.
#[cold]
pub fn say_if_damaged() {
    if let Some(NamespaceEngine { arena, engine: Ok(engine), .. }) = namespace_engine()
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
fn init_once() -> Option<&'static NamespaceEngine> {
    // Signals are blocked: no handler may interrupt this thread half-way and call semop, which needs the open engine.
    let mask = unspin_sys::signal::set_mask(Mask::ALL_BUT_FAULTS);
    let found = match tls::word(Word::Engine).get() {
        TO_BE_OPENED => {
            let found = find_or_open();
            tls::word(Word::Engine).set(&raw const *found as usize);
            Some(found)
        }
        _ => open_for_process(),
    };
    unspin_sys::signal::set_mask(mask);
    found
}

fn open_for_process() -> Option<&'static NamespaceEngine> {
    loop {
        if let Some(found) = namespace_engine() {
            return Some(found);
        }
        match OPENING.take() {
            Claimed::Now => {
                let found = namespace_engine().unwrap_or_else(|| {
                    prepare();
                    find_or_open()
                });
                // Release: pairs with the Acquire load in `namespace_engine`.
                OF_PROCESS.store((&raw const *found).cast_mut(), Ordering::Release);
                OPENING.give_up();
            }
            Claimed::Before => return None,
            Claimed::ByAnother => claim::wait_for_owner(),
        }
    }
}

/// Prepares what else this library needs before the program begins.
fn prepare() {
    static DONE: AtomicBool = AtomicBool::new(false);
    // Relaxed: only the thread that has the claim `OPENING` gets here.
    if !DONE.load(Ordering::Relaxed) {
        #[cfg(not(test))]
        crate::private::prepare();
        guard::install();
        lookup::prepare();
        next::prepare();
        if plan::keeps_thread_data() {
            departure::prepare();
        }
        watch::prepare();
        swap::prepare();
        summary::prepare();
        waits::prepare();
        signal::activate();
        cancel::prepare();
        // Last: if a fork loses this thread, the child begins again.
        DONE.store(true, Ordering::Relaxed);
    }
}

/// The engine for the calling thread's namespace.
fn find_or_open() -> &'static NamespaceEngine {
    let namespace = namespace_of_engine();
    let known = all_engines().find(|found| found.namespace.relation(&namespace) == Relation::Same);
    known.unwrap_or_else(|| keep(open(namespace)))
}

/// The calling thread's namespace. All are one to the kernel's calls, and so nothing is asked: an inherited filter may kill for that.
fn namespace_of_engine() -> Ipc {
    if plan::engine() == Ok(Kind::Kernel) { Ipc::UNKNOWN } else { Ipc::current() }
}

fn all_engines() -> impl Iterator<Item = &'static NamespaceEngine> {
    core::iter::successors(behind(&ALL), |found| behind(&found.older))
}

fn behind(link: &AtomicPtr<NamespaceEngine>) -> Option<&'static NamespaceEngine> {
    // Acquire: pairs with the Release stores in `keep`.
    let found = link.load(Ordering::Acquire);
    // SAFETY: null, or what `keep` leaked.
    unsafe { found.as_ref() }
}

fn keep(found: NamespaceEngine) -> &'static NamespaceEngine {
    let found: &'static NamespaceEngine = Box::leak(Box::new(found));
    // Relaxed: the exchange fails if it is not the latest.
    let mut latest = ALL.load(Ordering::Relaxed);
    loop {
        found.older.store(latest, Ordering::Release);
        // Release: pairs with the Acquire in `all_engines`. Relaxed: as above.
        let new = (&raw const *found).cast_mut();
        match ALL.compare_exchange(latest, new, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return found,
            Err(now) => latest = now,
        }
    }
}

/// Opens the engine that the environment names, or keeps the reason why that failed.
fn open(namespace: Ipc) -> NamespaceEngine {
    let kind = plan::engine();
    let arena = match (plan::arena(), kind) {
        (Some(path), _) => path.to_path_buf(),
        (None, Ok(Kind::Kernel) | Err(_)) => PathBuf::new(),
        (None, Ok(kind)) => Engine::default_arena(kind),
    };
    let engine = match kind {
        Ok(kind) => {
            let usual = Options::default();
            let wake_up_ns = match sandbox::lets_engine_poll() {
                true => plan::wake_up_ns().unwrap_or(usual.wake_up_ns),
                false => 0,
            };
            let opened = Engine::open(kind, &arena, &Options { wake_up_ns, ..usual }, recording::wait());
            opened.map_err(|error| format!("{error}; {}", remedy(&error)))
        }
        Err(name) => Err(format!("{SYSV} names no engine: {name:?}; set it to {}", Kind::choices())),
    };
    NamespaceEngine { namespace, arena, engine, older: AtomicPtr::default() }
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
pub fn change_namespace(opening: Opening) {
    let Some(left) = namespace_engine() else { return };
    if left.namespace.relation(&namespace_of_engine()) == Relation::Same {
        return;
    }
    if let Ok(engine) = &left.engine {
        engine.leave();
    }
    if process::thread_count() <= 1 {
        tls::word(Word::Engine).set(AS_THE_PROCESS);
        // Release: no other thread of this process exists that could read it.
        OF_PROCESS.store(null_mut(), Ordering::Release);
    } else {
        tls::word(Word::Engine).set(TO_BE_OPENED);
    }
    if opening == Opening::AtOnce {
        init_once();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_wish_it_is_the_kernel() {
        assert_eq!(engine().unwrap().kind(), Kind::Kernel);
    }
}
