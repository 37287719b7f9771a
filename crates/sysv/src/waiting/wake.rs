//! Wakes the threads whose operations were performed, after the lock is released.
//!
//! A grant that was made after the waiter's death must be taken back, or its token is lost. So the waker checks whether
//! the waiter was alive, and confirms the grant if so. The waker may die before it has done that. Within a section it
//! cannot recover dead participants either. In both cases the grant stays unconfirmed until the periodic check of
//! another waiter on the same object finds it ([`verify`]).

use crate::engine::Inner;
use crate::participant::{Participant, status};
use crate::recovery::sweep;
use crate::sem::{Wake, Wakes};
use crate::thread::Thread;
use unspin_rcu::registry::Extent;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};
use unspin_sys::process::Life;

/// What is known about the receivers of grants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Grants {
    /// All of them were alive.
    Settled,
    /// At least one was dead. It is marked as dead and has to be recovered outside of locks.
    ToTheDead,
}

/// Wakes every waiter in `wakes`, the list of a section on the object `set`. Takes care of operations granted to
/// waiters that were already dead.
pub(crate) fn wake_all(inner: &'static Inner, thread: &Thread, wakes: &Wakes, set: u64) {
    let mut grants = Grants::Settled;
    for one in wakes.iter() {
        if wake(inner, one) == Grants::ToTheDead {
            grants = Grants::ToTheDead;
        }
    }
    if wakes.have_overflowed() && verify(inner, set) == Grants::ToTheDead {
        grants = Grants::ToTheDead;
    }
    if grants == Grants::ToTheDead {
        sweep::sweep(inner, thread, Extent::Condemned);
    }
}

/// Wakes one waiter and settles its grant. A sleeper that the kernel woke was alive. For any other waiter the registry
/// is asked.
pub(crate) fn wake(inner: &Inner, wake: Wake) -> Grants {
    let Some(person) = inner.people().get(wake.index as usize) else { return Grants::Settled };
    let woken = person.waiter.wake();
    // Acquire: as in `settle`. If the status differs, the waiter has moved on, or another thread has settled this
    // grant.
    if person.waiter.status.load(Acquire) != wake.end {
        return Grants::Settled;
    }
    if woken {
        person.waiter.confirm(wake.end);
        return Grants::Settled;
    }
    settle(inner, wake.index, person)
}

/// Settles every unconfirmed grant on an object.
pub(crate) fn verify(inner: &Inner, set: u64) -> Grants {
    let mut grants = Grants::Settled;
    for (person, index) in inner.people().iter().zip(0u32..) {
        // Relaxed: if this reads an outdated offset, a grant on another object is settled too, which is harmless.
        if person.waiter.object.load(Relaxed) == set && settle(inner, index, person) == Grants::ToTheDead {
            grants = Grants::ToTheDead;
        }
    }
    grants
}

fn settle(inner: &Inner, index: u32, person: &Participant) -> Grants {
    // Acquire: a thread that reads the grant sees the slot as its waiter had set it.
    let end = person.waiter.status.load(Acquire);
    if !status::is_granted(end) && end != status::RETRY {
        return Grants::Settled;
    }
    let registry = inner.rcu().registry();
    match registry.participant(index as usize).map(|who| registry.life(who)) {
        Some(Life::Alive) => {
            person.waiter.confirm(end);
            Grants::Settled
        }
        _ => Grants::ToTheDead,
    }
}
