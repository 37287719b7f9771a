//! Memory that readers may still use: it is freed a grace period after it was unlinked.
//!
//! A thread that holds the registry lock returns small blocks to the heap. The pages of large blocks are given back to
//! the system, by a thread that has just released the lock (Morton 2002: "use the workqueue to enable RCU freeing
//! vmalloced entries").

use crate::arena::Arena;
use crate::engine::Inner;
use crate::heap;
use crate::ipc::{Class, Registry};
use crate::names::{Call, LockName, key};
use crate::participant::Participant;
use crate::thread::Thread;
use crate::time;
use unspin_meter::{AttemptOutcome, Sample};
use unspin_rcu::Rcu;
use unspin_rcu::deferred::Exclusive;
use unspin_rcu::work::{FreeAttempt, PendingFree};
use unspin_sync::machine::{AtomicBool, Ordering::Relaxed};
use unspin_sys::sched;

/// Number of retired blocks before a grace period is asked for. It costs a membarrier and a look at every thread.
const BATCH: usize = 16;
/// Number of attempts, with yields in between, when the queue is full. After that the block is given up.
const PATIENCE: u32 = 1_000;

/// Whether the last block was given up. Until there is room again no thread waits for it, because each would wait as
/// long.
static IN_VAIN: AtomicBool = AtomicBool::new(false);

fn ring(arena: &Arena) -> Exclusive<'_, 1024, 256> {
    // SAFETY: called only under the registry lock (or while the arena is being made), which guards the ring. The result
    // is dropped before another is made.
    unsafe { arena.header().deferred.0.exclusive() }
}

/// Retires a payload that the caller has announced ([`heap::unpublish`]) and unlinked. The caller holds the registry
/// lock.
pub(crate) fn retire(arena: &Arena, rcu: &Rcu<'_>, me: &Participant, payload: u64, bytes: u64) {
    let cookie = rcu.start_poll();
    // Relaxed (all): only a hint.
    let patience = if IN_VAIN.load(Relaxed) { 1 } else { PATIENCE };
    let queued = (0..patience).any(|_| {
        let queued = ring(arena).call(payload, bytes, cookie).is_ok();
        if !queued && reap_ring(arena, rcu, me) == 0 && patience > 1 {
            sched::yield_now();
        }
        queued
    });
    IN_VAIN.store(!queued, Relaxed);
    // If the queue stayed full, a reader has been stopped within its section for long. The block is lost; freeing it
    // would take it from that reader.
    heap::publish(me);
}

/// Frees the blocks whose grace period is over; returns how many. The caller holds the registry lock.
pub(crate) fn reap(registry: &Registry<'_>, thread: &Thread) -> u64 {
    if ring(registry.arena).len() < BATCH {
        return 0;
    }
    let start = time::ticks();
    let reaped = reap_ring(registry.arena, &registry.rcu, registry.me);
    if let Some(table) = thread.table() {
        let spun = time::ticks().wrapping_sub(start);
        let outcome = if reaped > 0 { AttemptOutcome::Spun } else { AttemptOutcome::Rejected };
        table.record(key(LockName::GracePeriod, Call::Rmid), &Sample { outcome, hold: 0, spun, slept: 0 });
    }
    reaped as u64
}

fn reap_ring(arena: &Arena, rcu: &Rcu<'_>, me: &Participant) -> usize {
    // The ring itself records the block that is being freed. The caller's pending block is a different one, and must be
    // kept.
    let pending = heap::pending(me);
    let reaped =
        ring(arena).reap(|cookie| rcu.poll(cookie), |garbage, _| heap::free(arena, me, garbage.item));
    heap::restore(me, pending);
    reaped
}

/// Completes the free that a dead holder of the lock was making, before any thread allocates.
pub(crate) fn repair(arena: &Arena, me: &Participant) {
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

fn times_retired(arena: &Arena, payload: u64) -> usize {
    let is_it = |garbage: &PendingFree| garbage.item == payload;
    ring(arena).iter().filter(is_it).count()
        + arena.header().deferred.0.work_queue().iter().filter(is_it).count()
}

/// Frees some large blocks, outside the registry lock, because giving back their pages takes long.
pub(crate) fn work(inner: &'static Inner, thread: &Thread) {
    let queue = inner.arena.header().deferred.0.work_queue();
    // Freeing a block takes the registry lock, and its release calls this function again: nested calls would use up the
    // stack.
    if queue.is_empty() || thread.frees.replace(true) {
        return;
    }
    for _ in 0..BATCH {
        if !free_large(inner, thread) {
            break;
        }
    }
    thread.frees.set(false);
}

/// Frees one large block, if there is one that no other thread is freeing. Returns whether it did.
fn free_large(inner: &'static Inner, thread: &Thread) -> bool {
    let queue = inner.arena.header().deferred.0.work_queue();
    let registry = inner.rcu().registry();
    queue.work(&registry, thread.participant(), |garbage, attempt| match attempt {
        FreeAttempt::First => {
            inner.arena.punch(garbage.item, garbage.bytes);
            inner.with_registry(thread, Class::Sem, Call::Rmid, |held| {
                heap::free(held.arena, held.me, garbage.item)
            });
        }
        // A thread was killed while it freed this block. Since then the block may have been freed, allocated again, and
        // retired again. It is queued once while this call lasts, so a higher count means that it was retired again.
        FreeAttempt::Retry => inner.with_registry(thread, Class::Sem, Call::Rmid, |held| {
            let is_again = inner.refers_to(held, garbage.item) || times_retired(held.arena, garbage.item) > 1;
            if !is_again && !heap::is_free(held.arena, garbage.item) {
                heap::free(held.arena, held.me, garbage.item);
            }
        }),
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Engine, Kind, Options};
    use core::panic::AssertUnwindSafe;
    use unspin_rcu::FenceMode;
    use unspin_sys::process::Identity;

    /// The thread that frees a large block is killed before the block is free: the next one frees it.
    #[test]
    fn what_a_dead_worker_was_freeing_is_freed() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let (inner, thread) = (engine.inner.unwrap(), Thread::of(engine.inner.unwrap()).unwrap());
        let registry = inner.rcu().registry();
        // Above every pid that the kernel assigns (PID_MAX_LIMIT is 2^22).
        let nobody = Identity { pid: 1 << 23, tid: 1 << 23, ..Identity::default() };
        let dead = registry.register(&nobody, FenceMode::Full, &mut |_, _| panic!("there is room")).unwrap();
        let payload = inner.with_registry(thread, Class::Sem, Call::Rmid, |held| {
            let payload = heap::allocate(held.arena, held.me, 9_000).unwrap();
            heap::unpublish(held.me, payload);
            retire(held.arena, &held.rcu, held.me, payload, 9_000);
            assert_eq!(reap_ring(held.arena, &held.rcu, held.me), 1);
            let killed = || {
                let queue = held.arena.header().deferred.0.work_queue();
                queue.work(&registry, dead, |_, _| std::panic::resume_unwind(Box::new(())))
            };
            assert!(std::panic::catch_unwind(AssertUnwindSafe(killed)).is_err());
            assert!(!heap::is_free(held.arena, payload) && is_retired(held.arena, payload));
            payload
        });
        work(inner, thread);
        assert!(inner.arena.header().deferred.0.work_queue().is_empty());
        assert!(heap::is_free(&inner.arena, payload));
    }
}
