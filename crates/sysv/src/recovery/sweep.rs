//! Recovering dead participants: a thread that comes across a killed thread releases what it held.
//!
//! No thread is dedicated to this. A thread that joins checks a few participants. A thread that is held up checks the
//! participant that holds it up. A sleeper's periodic check recovers participants that others have found dead. If the
//! recovering thread is killed, another may repeat each step from the beginning.

use crate::class::Class;
use crate::engine::Inner;
use crate::engine::lock_names::Call;
use crate::participant::ParticipantRecord;
use crate::store::deferred_free;
use crate::store::heap::{self, Pending};
use crate::thread::{SweepState, Thread};
use unspin_rcu::registry::{Recovery, SweepScope};

/// Number of participants that a joining thread checks. If many have died, the threads that join later find the others.
/// A check takes 5 us, which is little compared with joining.
const SPOT_CHECKS: usize = 1;

/// Releases the slot of a dead participant that held nothing. This is the only recovery that a thread can make before
/// it is a participant itself.
pub(crate) fn release_if_clean(inner: &Inner, dead: unspin_rcu::ParticipantId) -> Recovery {
    match inner.participants().get(dead.index()) {
        Some(participant) if !participant.is_clean() => Recovery::Incomplete,
        Some(participant) => {
            participant.forget();
            Recovery::Done
        }
        None => Recovery::Done,
    }
}

/// A joining thread's check of a few participants.
pub(crate) fn spot_check(inner: &'static Inner, thread: &Thread) {
    let registry = inner.rcu().registry();
    let high = registry.high_water_mark().max(1);
    // Any start index will do if it varies from thread to thread.
    let start = unspin_sys::clock::ticks() as usize / 64;
    for i in 0..SPOT_CHECKS.min(high) {
        if let Some(who) = registry.participant((start + i) % high) {
            let _ = registry.liveness(who);
        }
    }
    recover_marked_dead(inner, thread);
}

/// Recovers the participants that were found dead so far. Does nothing while the caller holds a lock.
pub(crate) fn recover_marked_dead(inner: &'static Inner, thread: &Thread) {
    if inner.rcu().registry().may_have_dead() {
        sweep(inner, thread, SweepScope::MarkedDead);
    }
}

/// Recovers the dead participants of this extent, and those that a recovery finds dead. (A recovery may give the next
/// waiter what it takes back from a dead one, and that waiter may be dead too.) Returns how many slots became free. Does
/// nothing while the caller holds a lock.
pub(crate) fn sweep(inner: &'static Inner, thread: &Thread, extent: SweepScope) -> usize {
    if thread.holds_locks() {
        return 0;
    }
    // Critical section: a handler that jumped out of a recovery would leave the dead participant claimed by this thread
    // for as long as this thread lives.
    let _critical = thread.critical();
    // This call comes from a recovery that this thread is making. The outer loop goes on instead: nested calls would
    // use up the stack, one for each dead waiter.
    if thread.sweep.get() != SweepState::None {
        thread.sweep.set(SweepState::Again);
        return 0;
    }
    let registry = inner.rcu().registry();
    let mut freed = 0;
    loop {
        thread.sweep.set(SweepState::Underway);
        let now = registry
            .sweep(&thread.identity(), extent, &mut |dead, _| recover_one(inner, thread, dead.index()));
        freed += now;
        let more = registry.may_have_dead() || thread.sweep.get() == SweepState::Again;
        if now == 0 || !more {
            break;
        }
    }
    thread.sweep.set(SweepState::None);
    freed
}

fn recover_one(inner: &'static Inner, thread: &Thread, dead: usize) -> Recovery {
    let Some(participant) = inner.participants().get(dead) else { return Recovery::Done };
    if !participant.is_clean() {
        release_locks(inner, thread, dead as u32, participant);
        end_wait(inner, thread, dead as u32, participant);
    }
    participant.forget();
    Recovery::Done
}

/// Takes over every lock that the dead participant held, which repairs what the lock protects, and settles its pending
/// allocation.
fn release_locks(inner: &'static Inner, thread: &Thread, dead: u32, participant: &ParticipantRecord) {
    inner.with_registry(thread, Class::Sem, Call::Recover, |registry| {
        let arena = &inner.arena;
        if let Pending::Taken(payload) = heap::resolve_pending(arena, participant)
            && !inner.is_in_use(registry, payload)
        {
            // It was unlinked a moment before the death, so readers may still use it.
            heap::unpublish(registry.me, payload);
            deferred_free::retire(arena, &registry.rcu, registry.me, payload, heap::size(arena, payload));
        }
        inner.take_over_locks(thread, dead);
        // The global lock may have been held while no object existed.
        inner.take_over_global(thread, dead);
    });
}

/// Takes the dead participant out of the queue that it waited in, or takes back what it was granted after its death.
fn end_wait(inner: &'static Inner, thread: &Thread, dead: u32, participant: &ParticipantRecord) {
    inner.with_object_of_waiter(thread, Call::Recover, participant, |section| section.recover_dead(dead));
}
