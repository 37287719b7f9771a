//! Burying the dead: what a killed thread held is released by whoever comes across it.
//!
//! Nobody is appointed to it. A thread that joins looks at a few participants; one that is held up looks at who holds
//! it up; a sleeper on patrol buries whom others have found. Each step may be repeated from the beginning by somebody
//! else, if the undertaker is killed.

use crate::engine::Inner;
use crate::heap::{self, Pending};
use crate::ipc::Class;
use crate::msg::MessageQueue;
use crate::names::Call;
use crate::participant::Participant;
use crate::retire;
use crate::sem::Set;
use crate::thread::Thread;
use unspin_rcu::registry::{Extent, Swept};

/// Participants that a joining thread looks at: a crowd of dead is found by the next crowd, at a cost too small to
/// matter beside the cost of joining (5 us each).
const GLANCES: usize = 1;

/// Lets go of a dead participant that held nothing. The only burial that a thread can do which is not yet a
/// participant itself.
pub(crate) fn bury_if_clean(inner: &Inner, dead: unspin_rcu::Participant) -> Swept {
    match inner.people().get(dead.index()) {
        Some(person) if !person.is_clean() => Swept::Keep,
        Some(person) => {
            person.forget();
            Swept::Done
        }
        None => Swept::Done,
    }
}

/// A joining thread's look at a few participants.
pub(crate) fn glance(inner: &'static Inner, thread: &Thread) {
    let registry = inner.rcu().registry();
    let high = registry.high().max(1);
    // Any place to begin will do that differs from thread to thread.
    let start = unspin_sys::clock::ticks() as usize / 64;
    for i in 0..GLANCES.min(high) {
        if let Some(who) = registry.participant((start + i) % high) {
            let _ = registry.life(who);
        }
    }
    sweep_condemned(inner, thread);
}

/// Buries whoever was found dead so far; not while the caller holds a lock.
pub(crate) fn sweep_condemned(inner: &'static Inner, thread: &Thread) {
    if inner.rcu().registry().pending() {
        sweep(inner, thread, Extent::Condemned);
    }
}

/// Buries the dead of this extent, and whomever a burial finds dead: the next waiter, served with what was taken back
/// from one dead, may be dead too. Returns how many places became free; nothing while the caller holds a lock.
pub(crate) fn sweep(inner: &'static Inner, thread: &Thread, extent: Extent) -> usize {
    if thread.is_busy() {
        return 0;
    }
    // A handler that jumped out of a burial would leave the dead in this thread's hands for as long as it lives.
    let _critical = thread.critical();
    // Found by a burial of this thread's own: the loop below goes on, where calls within calls would use up the stack,
    // as many deep as there are dead waiters.
    if thread.sweep.get() != Sweep::None {
        thread.sweep.set(Sweep::Again);
        return 0;
    }
    let registry = inner.rcu().registry();
    let mut freed = 0;
    loop {
        thread.sweep.set(Sweep::Underway);
        let now =
            registry.sweep(&thread.identity(), extent, &mut |dead, _| bury(inner, thread, dead.index()));
        freed += now;
        let more = registry.pending() || thread.sweep.get() == Sweep::Again;
        if now == 0 || !more {
            break;
        }
    }
    thread.sweep.set(Sweep::None);
    freed
}

/// Whether a thread is burying the dead. Zero: it is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Sweep {
    None = 0,
    Underway,
    /// And has come across another one.
    Again,
}

fn bury(inner: &'static Inner, thread: &Thread, dead: usize) -> Swept {
    let Some(person) = inner.people().get(dead) else { return Swept::Done };
    if !person.is_clean() {
        release_locks(inner, thread, dead as u32, person);
        end_wait(inner, thread, dead as u32, person);
    }
    person.forget();
    Swept::Done
}

/// Inherits every lock that the dead held, which repairs what it protects, and settles its allocation.
fn release_locks(inner: &'static Inner, thread: &Thread, dead: u32, person: &Participant) {
    inner.with_registry(thread, Class::Sem, Call::Sweep, |registry| {
        let arena = &inner.arena;
        if let Pending::Taken(payload) = heap::settle(arena, person)
            && !inner.is_in_use(registry, payload)
        {
            // Unlinked a moment before the death: readers may still be there.
            heap::unpublish(registry.me, payload);
            retire::retire(arena, &registry.rcu, registry.me, payload, heap::size(arena, payload));
        }
        inner.inherit_all::<Set>(thread, dead);
        inner.inherit_all::<MessageQueue>(thread, dead);
        // The global lock may have been held while there was no object.
        inner.inherit_global(thread, dead);
    });
}

/// Takes the dead out of the queue it waited in, or takes back what it was granted after its death.
fn end_wait(inner: &'static Inner, thread: &Thread, dead: u32, person: &Participant) {
    inner.with_waiting(thread, Call::Sweep, person, |section| section.bury(dead));
}
