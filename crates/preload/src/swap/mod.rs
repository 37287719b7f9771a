//! Replaces a program's mutexes, read-write locks and spin locks in place. The lock lies in the `pthread_mutex_t`,
//! `pthread_rwlock_t` or `pthread_spinlock_t` itself, and so does the word that says which lock it is. So no lookup is needed.
//!
//! | module | contents |
//! |---|---|
//! | `plan` | what replaces which mutex: the file that `UNSPIN_PLAN` names, as `unspin_wire::plan` parses it; whether a deployed plan fits |
//! | [`own_tally`] | what was replaced in this process and how it was used, for its summary and its status |
//! | `wrapped` | whether another library has to see the calls of lock functions |
//! | [`mutex_impl`], [`decision`], `modules` | which rule of the plan applies to a mutex: decided once in its life, at pthread_mutex_init(3) or its first use |
//! | `tag` | the decision, stored in one of the words of a `pthread_mutex_t` |
//! | `algorithm` | the locks of `unspin-locks` as a table |
//! | [`mutex`] | the mutex operations of a program: by libc (`libcs`), or by the lock in the mutex (`replaced`) |
//! | [`fast_path`] | lock and unlock in one call |
//! | [`rwlock`] | read-write locks: a table of the same parts |
//! | [`spin`] | the spin lock operations of a program |
//! | [`condition`], [`waiters`], `shared` | condition variables: ours if they are private, libc's if they are shared between processes |
//!
//! Owner, depth and users stay where glibc keeps them ([`MutexLayout`](crate::glibc::mutex::MutexLayout)). So `memset`,
//! `memcpy` of a free mutex, and a release by another thread than the owner have the same effect as with libc's mutex.
//! docs/semantics.md lists what differs.
//!
//! A mutex is replaced if it is private, not robust and without a protocol: normal, recursive, errorcheck or adaptive.
//! A mutex with PTHREAD_PRIO_INHERIT is replaced only by kinds that inherit priorities. A read-write lock or a spin lock is
//! replaced if it is private. All others stay libc's, and so do those to which no rule applies. In a process in which nothing is to be
//! replaced, libc's functions do everything. If code gets into the process whose calls bypass the hooks
//! ([`bypass`](crate::bypass)), nothing is replaced from then on, and what was replaced becomes libc's again. If another
//! library wraps the lock functions behind this one, or a sanitizer is in the process, nothing is replaced either, and no wait
//! polls: the wrapper must see each call.

pub mod acquisition;
mod algorithm;
pub mod condition;
pub mod deadline;
pub mod decision;
pub mod fast_path;
mod libcs;
mod modules;
pub mod mutex;
pub mod mutex_impl;
pub mod own_tally;
pub mod plan;
mod replaced;
pub mod rwlock;
pub mod shared;
pub mod spin;
mod tag;
pub mod waiters;
mod wrapped;

use crate::sandbox;
use plan::Conditions;
use unspin_locks::RwLockKind;
use unspin_sys::tid;
use unspin_wire::TallyCount;
use unspin_wire::looks::LookKind;

/// To be called before the program begins: prepares what must not be done in the middle of a use of a lock.
pub fn prepare() {
    if plan::is_on() {
        tid::prepare();
        unspin_locks::prepare();
        shared::prepare();
    }
    let has_biased = plan::get().is_some_and(|plan| plan.has_kind(plan::Kind::RwLock(RwLockKind::Biased)));
    // An inherited filter could kill for membarrier(2).
    if has_biased && sandbox::permitted_looks().has(LookKind::Membarrier) {
        unspin_locks::rw::use_membarrier();
    }
}

/// To be called when [`bypass`](crate::bypass) has set its flag. Mutexes and read-write locks need nothing: each is handed to libc
/// by the thread that next acquires it. Conditions that are shared need [`shared::settle`].
pub fn give_up() {
    if plan::conditions() == Conditions::Ours {
        waiters::wake_everyone();
    }
    if let Some(plan) = plan::get() {
        plan.count(TallyCount::Bypassed);
    }
}

/// To be called after code was unloaded.
pub fn forget_modules() {
    if let Some(plan) = plan::get().filter(|plan| plan.is_particular()) {
        modules::forget(plan);
    }
}
