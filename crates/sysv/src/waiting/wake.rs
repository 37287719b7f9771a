//! Wakes the threads whose operations were performed, after the lock is released.
//!
//! A grant that was made after the waiter's death must be taken back, or its token is lost. So the waker checks whether
//! the waiter was alive, and confirms the grant if so. Two things can prevent that: the waker may die before the check,
//! and within a section it cannot recover a dead waiter. Then the grant stays unconfirmed until the periodic check of
//! another waiter on the same object finds it ([`confirm_all`]).

use crate::engine::Inner;
use crate::participant::{ParticipantRecord, status};
use crate::recovery::sweep;
use crate::sem::{PendingWake, WakeList};
use crate::thread::Thread;
use unspin_rcu::registry::SweepScope;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};

/// What is known about the receivers of grants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GrantCheck {
    /// All of them were alive.
    AllAlive,
    /// At least one was dead. It is marked as dead and has to be recovered outside of locks.
    SomeDead,
}

/// Wakes every waiter in `wakes`, the list of a section on the object `set`. Takes care of operations granted to
/// waiters that were already dead.
pub(crate) fn wake_all(inner: &'static Inner, thread: &Thread, wakes: &WakeList, set: u64) {
    let mut check = GrantCheck::AllAlive;
    for one in wakes.iter() {
        if wake(inner, one) == GrantCheck::SomeDead {
            check = GrantCheck::SomeDead;
        }
    }
    if wakes.has_overflowed() && wake_news(inner, |object| object == set) == GrantCheck::SomeDead {
        check = GrantCheck::SomeDead;
    }
    if check == GrantCheck::SomeDead {
        sweep::sweep(inner, thread, SweepScope::MarkedDead);
    }
}

/// Wakes every waiter with news ([`status::is_news`]) on the objects for which `concerns` is true of the offset, and
/// settles its grant. For wake-ups that are in no list: there were too many, or a dead thread's list was lost with it.
#[cold]
pub(crate) fn wake_news(inner: &Inner, concerns: impl Fn(u64) -> bool) -> GrantCheck {
    let mut check = GrantCheck::AllAlive;
    for (participant, index) in inner.participants().iter().zip(0u32..) {
        // Acquire: the object's offset is read as it was when this status was written, or later.
        let end = participant.waiter.status.load(Acquire);
        if status::is_news(end)
            && concerns(participant.waiter.object.load(Relaxed))
            && wake(inner, PendingWake { index, end, asleep: true }) == GrantCheck::SomeDead
        {
            check = GrantCheck::SomeDead;
        }
    }
    check
}

/// Wakes one waiter, if it sleeps, and settles its grant. A sleeper that the kernel woke was alive. Of any other waiter
/// its robust word tells: see [`crate::recovery`].
fn wake(inner: &Inner, wake: PendingWake) -> GrantCheck {
    let Some(participant) = inner.participants().get(wake.index as usize) else {
        return GrantCheck::AllAlive;
    };
    let woken = wake.asleep && participant.waiter.wake();
    // Acquire: as in `confirm`. If the status differs, the waiter has moved on, or another thread has settled this
    // grant.
    if participant.waiter.status.load(Acquire) != wake.end {
        return GrantCheck::AllAlive;
    }
    if woken {
        participant.waiter.confirm(wake.end);
        return GrantCheck::AllAlive;
    }
    confirm(inner, wake.index, participant)
}

/// Settles every unconfirmed grant on an object.
pub(crate) fn confirm_all(inner: &Inner, set: u64) -> GrantCheck {
    let mut check = GrantCheck::AllAlive;
    for (participant, index) in inner.participants().iter().zip(0u32..) {
        // Relaxed: if this reads an outdated offset, a grant on another object is settled too, which is harmless.
        if participant.waiter.object.load(Relaxed) == set
            && confirm(inner, index, participant) == GrantCheck::SomeDead
        {
            check = GrantCheck::SomeDead;
        }
    }
    check
}

fn confirm(inner: &Inner, index: u32, participant: &ParticipantRecord) -> GrantCheck {
    // Acquire: a thread that reads the grant sees the slot as its waiter had set it.
    let end = participant.waiter.status.load(Acquire);
    if !status::is_granted(end) && end != status::RETRY {
        return GrantCheck::AllAlive;
    }
    if inner.is_dead(index) {
        return GrantCheck::SomeDead;
    }
    participant.waiter.confirm(end);
    GrantCheck::AllAlive
}
