//! Signal handlers of the program.
//!
//! A handler may interrupt a thread inside the engine's critical section, call the engine itself, and leave by
//! `longjmp`. To block all signals around every section would cost two system calls each. Instead a
//! [`trampoline`] stands in the kernel's table in place of the program's handler, asks the engine, and either
//! calls the handler or puts the signal off until the section ends.
//!
//! Who knows what: the *kernel* keeps whether there is a handler at all, its mask and its flags; one word per
//! signal ([`disposition`]) keeps the program's address and the few flags that the trampoline needs different.
//! So SIG_DFL, SIG_IGN and SA_RESETHAND stay the kernel's business. SIGSEGV and SIGBUS are the exception
//! ([`owned`]): their trampoline is always installed, because the engine reads the program's memory by loads
//! that may fault (`unspin_sys::fault`), and the word keeps SIG_DFL and SIG_IGN too.
//!
//! With the engine `kernel`, and without waits that poll, nothing stands in between: every call goes to the next definition as
//! it came. Where waits poll the trampoline counts the handlers that a thread runs ([`crate::waits::handlers`]).

mod action;
mod disposition;
mod exchange;
mod family;
mod legacy;
mod trampoline;

pub use exchange::rt_sigaction;

use crate::plan::{self, Handlers};
use core::ffi::c_int;

/// The signals whose trampoline is installed whatever the program wants.
const OWNED: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

fn owned(signal: c_int) -> bool {
    OWNED.contains(&signal) && plan::handlers() == Handlers::Guarded
}

/// Installs what the engines need, unless the engine is the kernel. Called once, before an engine is opened.
pub fn activate() {
    if plan::handlers() == Handlers::Direct {
        return;
    }
    family::found();
    if plan::handlers() == Handlers::Counted {
        return;
    }
    let installed = OWNED.map(exchange::own);
    unspin_sys::fault::set_handled(installed == [true; OWNED.len()]);
    unspin_sysv::signal::set_policy(unspin_sysv::signal::Policy::Trampolines);
}
