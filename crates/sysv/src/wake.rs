//! Waking those whose operations were performed, once the lock is released.
//!
//! A grant that came after its waiter's death must be taken back, or its token is lost. So whoever granted finds out
//! whether the waiter was alive, and confirms the grant if so. He may die before, and within a section he cannot bury:
//! then the grant stays unconfirmed, until somebody's patrol of the same set finds it ([`verify`]).

use crate::engine::Inner;
use crate::participant::{Participant, status};
use crate::sem::{Wake, Wakes};
use crate::sweep;
use crate::thread::Thread;
use unspin_rcu::registry::Extent;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};
use unspin_sys::process::Life;

/// What is known of those who were granted an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Grants {
    /// They were alive.
    Settled,
    /// One was dead. He is condemned, and has to be buried outside of locks.
    ToTheDead,
}

/// Wakes everybody in the list of a set's section, and makes sure that nobody was granted an operation after his death.
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

/// Wakes one waiter and settles his grant: a sleeper whom the kernel woke was alive; of anybody else it is asked.
pub(crate) fn wake(inner: &Inner, wake: Wake) -> Grants {
    let Some(person) = inner.people().get(wake.index as usize) else { return Grants::Settled };
    let woken = person.waiter.wake();
    // Acquire: as in `settle`. If it is another one the waiter has moved on, or somebody has settled this one.
    if person.waiter.status.load(Acquire) != wake.end {
        return Grants::Settled;
    }
    if woken {
        person.waiter.confirm(wake.end);
        return Grants::Settled;
    }
    settle(inner, wake.index, person)
}

/// Settles every grant on a set that nobody has confirmed.
pub(crate) fn verify(inner: &Inner, set: u64) -> Grants {
    let mut grants = Grants::Settled;
    for (person, index) in inner.people().iter().zip(0u32..) {
        // Relaxed: a grant of another set does no harm here, it is as good to settle it.
        if person.waiter.object.load(Relaxed) == set && settle(inner, index, person) == Grants::ToTheDead {
            grants = Grants::ToTheDead;
        }
    }
    grants
}

fn settle(inner: &Inner, index: u32, person: &Participant) -> Grants {
    // Acquire: whoever reads the grant sees the slot as its waiter had it.
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
