//! Arenas that somebody cuts short, or overwrites, while they are in use.
//!
//! Memory behind the end of its file raises SIGBUS. Whoever owns the handler of that signal asks [`mend`]: memory of this
//! process alone, all zero, takes the arena's place, in which nothing is found and no lock is held; what was under way
//! comes to an end, with an error, and every later call answers `ENOSYS`, as it does when the magic number was overwritten.
//!
//! Whoever has *proof* that an arena was overwritten condemns it: from then on everybody's calls answer `ENOSYS`, and nobody
//! waits for what will never come. A word that merely looks wrong is none: an owner may be stopped, a participant killed
//! between any two stores. Proof is
//!
//! - a lock that names an owner who does not hold it (`busy::Busy::disproves`), or the one who waits for it;
//! - a waiter's record that is not as the waiter has left it (`Posture`), or that leads to no object.

use crate::engine::Inner;
use crate::participant::Waiter;
use unspin_sync::atomic::AtomicPtr;
use unspin_sync::atomic::Ordering::{Relaxed, Release};
use unspin_sys::fault;

#[cfg(test)]
mod tests;

/// The engine that was opened last.
static ENGINES: AtomicPtr<Inner> = AtomicPtr::new(core::ptr::null_mut());

/// Makes an engine known to [`mend`]; for good.
pub(crate) fn watch(inner: &'static Inner) {
    let new = (&raw const *inner).cast_mut();
    // Relaxed: the exchange fails if it is not the latest.
    let mut latest = ENGINES.load(Relaxed);
    loop {
        // Release: pairs with the Acquire in `Inner::behind`.
        inner.older.store(latest, Release);
        // Release: pairs with the Acquire in `Inner::behind`. Relaxed: as above.
        match ENGINES.compare_exchange(latest, new, Release, Relaxed) {
            Ok(_) => break,
            Err(now) => latest = now,
        }
    }
    if crate::signal::masks() {
        // Nobody else owns the handler. Where it cannot be installed a fault stays one.
        let _ = fault::on_bus_error(mend);
    }
}

fn engines() -> impl Iterator<Item = &'static Inner> {
    core::iter::successors(Inner::behind(&ENGINES), |inner| Inner::behind(&inner.older))
}

/// Whether a fault of the memory at `address` was one of an arena, and has been mended: the instruction may be repeated.
/// Can be called in a signal handler.
pub fn mend(address: usize) -> bool {
    engines().any(|inner| inner.arena.contains(address) && inner.arena.abandon())
}

impl Inner {
    /// Gives up an arena that has demonstrably been overwritten, for everybody: others find it condemned when they call the
    /// next time, or look around in their sleep.
    #[cold]
    pub(crate) fn condemn(&self) {
        self.arena.condemn();
        self.arena.abandon();
    }
}

/// What a waiter has written about its wait, which nobody else changes until the wait has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Posture {
    object: u64,
    ticket: u64,
    undo: u64,
    queue: u32,
    nsops: u32,
}

impl Posture {
    /// As it is now.
    pub fn of(waiter: &Waiter) -> Posture {
        // Relaxed (all): the thread's own.
        Posture {
            object: waiter.object.load(Relaxed),
            ticket: waiter.ticket.load(Relaxed),
            undo: waiter.undo.load(Relaxed),
            queue: waiter.queue.load(Relaxed),
            nsops: waiter.nsops.load(Relaxed),
        }
    }
}
