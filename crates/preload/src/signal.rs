//! Signal handlers of the program.
//!
//! A handler may interrupt a thread inside the engine's critical section, call the engine itself, and leave by
//! `longjmp`. Blocking all signals around every section would cost two system calls each. Instead the kernel's table
//! contains a [`trampoline`] in place of the program's handler. The trampoline asks the engine. Then it calls the
//! handler, or defers the signal until the section ends.
//!
//! State: the *kernel* knows whether a signal has a handler at all, its mask and its flags. One word per signal
//! ([`disposition`]) contains the address of the program's handler and the few flags that differ for the trampoline. So
//! the kernel still implements SIG_DFL, SIG_IGN and SA_RESETHAND. SIGSEGV and SIGBUS are exceptions ([`owned`]): their
//! trampoline is always installed, because the engine reads the program's memory by loads that may fault
//! (`unspin_sys::fault`). For these two the word also stores SIG_DFL and SIG_IGN. Where only a recording or a tally is
//! mapped, SIGBUS alone is owned, because that file may shrink (`unspin_sys::file_mapping`). There SIG_IGN stays in the
//! kernel's table: a program that is executed inherits it.
//!
//! With the engine `kernel`, and without waits that poll, there is no other trampoline: every call goes unchanged to the
//! next definition. Where waits poll, the trampoline counts the handlers that a thread runs ([`crate::waits::handlers`]).

mod action;
mod disposition;
mod exchange;
mod family;
mod legacy;
mod restorer;
mod trampoline;

pub use exchange::rt_sigaction;

use crate::plan::{self, Handlers};
use core::ffi::c_int;

/// The signals of faults. An engine needs a trampoline for both.
const FAULTS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Whether the trampoline of a signal is always installed, whatever the program sets.
fn is_owned(signal: c_int) -> bool {
    match signal {
        libc::SIGSEGV => plan::handlers() == Handlers::Guarded,
        libc::SIGBUS => plan::handlers() == Handlers::Guarded || plan::maps_files(),
        _ => false,
    }
}

/// Whether every handler of the program for this signal is installed as it is.
fn is_direct(signal: c_int) -> bool {
    plan::handlers() == Handlers::Direct && !is_owned(signal)
}

/// Installs what the engine, mapped files and polling waits need. Called once, before an engine is opened.
pub fn activate() {
    let handlers = plan::handlers();
    if handlers == Handlers::Direct && !plan::maps_files() {
        return;
    }
    family::found();
    if handlers != Handlers::Guarded {
        if is_owned(libc::SIGBUS) {
            exchange::own(libc::SIGBUS);
        }
        return;
    }
    let installed = FAULTS.map(exchange::own);
    unspin_sys::fault::set_handled(installed == [true; FAULTS.len()]);
    unspin_sysv::signal::set_policy(unspin_sysv::signal::Policy::Trampolines);
}
