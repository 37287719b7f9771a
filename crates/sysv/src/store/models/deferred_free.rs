//! Replaces deferred frees in models: a block is freed at once if the grace period is over at once, and never
//! otherwise. loom explores both.

use crate::participant::ParticipantRecord;
use crate::store::Arena;
use unspin_rcu::Rcu;

pub(crate) fn retire(arena: &Arena, rcu: &Rcu<'_>, _: &ParticipantRecord, payload: u64, _: u64) {
    let cookie = rcu.start_poll();
    if rcu.poll(cookie) {
        arena.free(payload);
    }
}

pub(crate) fn repair(_: &Arena, _: &ParticipantRecord) {}
