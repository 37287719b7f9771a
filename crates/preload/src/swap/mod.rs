//! Replacing a program's mutexes, in place: the lock lies in the `pthread_mutex_t` itself, and so does the word that says
//! which one it is, so that nothing is looked up.
//!
//! | module | is about |
//! |---|---|
//! | `plan`, `text` | what replaces which mutex: the file that `UNSPIN_PLAN` names |
//! | [`server`], `decision`, `modules` | which rule of it is about this mutex: decided once in a mutex's life, at pthread_mutex_init(3) or its first use |
//! | `mark`, `body` | the words of a `pthread_mutex_t`, and what was decided in one of them |
//! | `algorithm` | the locks of `unspin-locks` as a table |
//! | [`mutex`] | what a program does with a mutex |
//! | [`condition`], `shared` | condition variables: ours if they are private, libc's if they are shared between processes |
//!
//! Replaced are mutexes that are private, not robust and without a protocol, be they normal, recursive, errorcheck or
//! adaptive; with PTHREAD_PRIO_INHERIT only by kinds that inherit. What no rule is about, and everything else, is
//! libc's. In a process in which nothing is to be replaced, libc's functions do everything.

mod algorithm;
mod body;
pub mod condition;
pub mod decision;
mod mark;
mod modules;
pub mod mutex;
pub mod plan;
pub mod server;
pub mod shared;
mod text;

use unspin_sys::tid;

/// To be called before the program begins: does what had better not be done in the middle of a use of a lock.
pub fn prepare() {
    if plan::is_on() {
        tid::prepare();
        unspin_locks::prepare();
        shared::prepare();
    }
}

/// Code has gone.
pub fn forget_modules() {
    if let Some(plan) = plan::get().filter(|plan| plan.is_particular()) {
        modules::forget(plan);
    }
}
