//! Arenas that are truncated or overwritten while they are in use.
//!
//! Access to memory beyond the end of its file raises SIGBUS. The handler of that signal calls [`handle_sigbus`]:
//! private zeroed memory of this process replaces the arena. No object is found in it and no lock is held, so calls
//! under way end with an error, and every later call fails with `ENOSYS`. The same happens when the magic number was
//! overwritten.
//!
//! A thread that has *proof* that an arena was overwritten poisons it. From then on the calls of all processes fail
//! with `ENOSYS`, and no thread waits for an event that will never come. A word that only looks wrong is no proof: an
//! owner may be stopped, and a participant may be killed between any two stores. Proof is
//!
//! - a lock that names as its owner a thread that does not hold it (`sync::lock_count::LockCount::disproves_owner`), or
//!   the very thread that waits for it;
//! - a waiter's record that the waiter finds changed (`WaiterSnapshot`), or that leads to no object.
//!
//! Derived state (queues, free lists, counts) is no proof: it is rebuilt. Poisoning replaces the arena's magic number by
//! one that belongs to no version. Every call checks the magic number first in any case, so poisoning costs the fast
//! path nothing. Loops over data in an arena have bounds that are not read from it.

use crate::engine::Inner;
use crate::participant::Waiter;
use unspin_sync::atomic::AtomicPtr;
use unspin_sync::atomic::Ordering::{Relaxed, Release};
use unspin_sys::fault;

#[cfg(test)]
mod tests;

/// The engine that was opened last.
static ENGINES: AtomicPtr<Inner> = AtomicPtr::new(core::ptr::null_mut());

/// Makes an engine known to [`handle_sigbus`], for good.
pub(crate) fn register(inner: &'static Inner) {
    let new = (&raw const *inner).cast_mut();
    // Relaxed: if the value is outdated, the exchange fails.
    let mut latest = ENGINES.load(Relaxed);
    loop {
        // Release: pairs with the Acquire in `Inner::of_link`.
        inner.older.store(latest, Release);
        // Release: pairs with the Acquire in `Inner::of_link`. Relaxed: as above.
        match ENGINES.compare_exchange(latest, new, Release, Relaxed) {
            Ok(_) => break,
            Err(now) => latest = now,
        }
    }
    if crate::thread::signal_policy::masks() {
        // No other code owns the handler in this case. If it cannot be installed, a fault ends the process.
        let _ = fault::install_sigbus_handler(handle_sigbus);
    }
}

fn engines() -> impl Iterator<Item = &'static Inner> {
    core::iter::successors(Inner::of_link(&ENGINES), |inner| Inner::of_link(&inner.older))
}

/// Handles a fault of the memory at `address`. Returns whether it was a fault of an arena and was repaired, so that the
/// instruction can be repeated. May be called in a signal handler.
pub fn handle_sigbus(address: usize) -> bool {
    engines().any(|inner| inner.arena.contains(address) && inner.arena.abandon())
}

impl Inner {
    /// Poisons an arena that has demonstrably been overwritten, for all processes. Others notice at their next call, or
    /// at a periodic check while they sleep.
    #[cold]
    pub(crate) fn poison(&self) {
        self.arena.poison();
        self.arena.abandon();
    }
}

/// A snapshot of what a waiter has written about its wait. No other thread changes these fields until the wait has
/// ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WaiterSnapshot {
    object: u64,
    ticket: u64,
    undo: u64,
    queue: u32,
    nsops: u32,
}

impl WaiterSnapshot {
    /// Takes a snapshot.
    pub fn of(waiter: &Waiter) -> WaiterSnapshot {
        // Relaxed (all): the thread's own record.
        WaiterSnapshot {
            object: waiter.object.load(Relaxed),
            ticket: waiter.ticket.load(Relaxed),
            undo: waiter.undo.load(Relaxed),
            queue: waiter.queue.load(Relaxed),
            nsops: waiter.nsops.load(Relaxed),
        }
    }
}
