//! Memory that readers may still use: it is freed a grace period after it was unlinked.
//!
//! A thread that holds the registry lock returns small blocks to the heap. The pages of large blocks are given back to
//! the system, by a thread that has just released the lock (Morton 2002: "use the workqueue to enable RCU freeing
//! vmalloced entries").

use crate::participant::ParticipantRecord;
use crate::store::Arena;
use crate::store::heap;
use unspin_rcu::Rcu;
use unspin_rcu::deferred::Exclusive;
use unspin_rcu::work::PendingFree;
use unspin_sync::machine::{AtomicBool, Ordering::Relaxed};
use unspin_sys::sched;

/// Number of retired blocks before a grace period is asked for. It costs a membarrier and a look at every thread.
pub(crate) const BATCH: usize = 16;
/// Number of attempts, with yields in between, when the queue is full. After that the block is given up.
const ENQUEUE_ATTEMPTS: u32 = 1_000;

/// Whether the last block was given up. Until there is room again no thread waits for it, because each would wait as
/// long.
static RING_IS_FULL: AtomicBool = AtomicBool::new(false);

pub(crate) fn ring(arena: &Arena) -> Exclusive<'_, 1024, 256> {
    // SAFETY: called only under the registry lock (or while the arena is being made), which guards the ring. The result
    // is dropped before another is made.
    unsafe { arena.header().deferred.0.exclusive() }
}

/// Retires a payload that the caller has announced ([`heap::unpublish`]) and unlinked. The caller holds the registry
/// lock.
pub(crate) fn retire(arena: &Arena, rcu: &Rcu<'_>, me: &ParticipantRecord, payload: u64, bytes: u64) {
    let cookie = rcu.start_poll();
    // Relaxed (all): only a hint.
    let attempts = if RING_IS_FULL.load(Relaxed) { 1 } else { ENQUEUE_ATTEMPTS };
    let queued = (0..attempts).any(|_| {
        let queued = ring(arena).call(payload, bytes, cookie).is_ok();
        if !queued && reap_ring(arena, rcu, me) == 0 && attempts > 1 {
            sched::yield_now();
        }
        queued
    });
    RING_IS_FULL.store(!queued, Relaxed);
    // If the queue stayed full, a reader has been stopped within its section for long. The block is lost; freeing it
    // would take it from that reader.
    heap::publish(me);
}

pub(crate) fn reap_ring(arena: &Arena, rcu: &Rcu<'_>, me: &ParticipantRecord) -> usize {
    // The ring itself records the block that is being freed. The caller's pending block is a different one, and must be
    // kept.
    let pending = heap::pending_block(me);
    let reaped =
        ring(arena).reap(|cookie| rcu.poll(cookie), |garbage, _| heap::free(arena, me, garbage.item));
    heap::restore(me, pending);
    reaped
}

/// Completes the free that a dead holder of the lock was making, before any thread allocates.
pub(crate) fn repair(arena: &Arena, me: &ParticipantRecord) {
    if ring(arena).in_doubt().is_some() {
        let mut first = true;
        ring(arena).reap(
            |_| core::mem::take(&mut first),
            |garbage, _| {
                if !heap::is_free(arena, garbage.item) {
                    heap::free(arena, me, garbage.item);
                }
            },
        );
    }
}

/// Whether a payload waits for its grace period, or to be freed after it. The caller holds the registry lock.
pub(crate) fn is_retired(arena: &Arena, payload: u64) -> bool {
    times_retired(arena, payload) > 0
}

pub(crate) fn times_retired(arena: &Arena, payload: u64) -> usize {
    let is_it = |garbage: &PendingFree| garbage.item == payload;
    ring(arena).iter().filter(is_it).count()
        + arena.header().deferred.0.work_queue().iter().filter(is_it).count()
}
