//! Frees retired memory after its grace period: small blocks under the registry lock, large ones outside it.

use super::Inner;
use super::lock_names::{Call, LockName, key};
use crate::class::Class;
use crate::registry::Registry;
use crate::store::deferred_free::{BATCH, reap_ring, ring, times_retired};
use crate::store::heap;
use crate::thread::Thread;
use crate::time;
use unspin_rcu::work::FreeAttempt;
use unspin_wire::{AttemptOutcome, Sample};

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
    use crate::store::deferred_free::{is_retired, retire};
    use crate::{Engine, Kind, Options};
    use core::panic::AssertUnwindSafe;
    use unspin_rcu::FenceMode;
    use unspin_sys::process::Identity;

    /// The thread that frees a large block is killed before the block is free: the next one frees it.
    #[test]
    fn block_of_dead_worker_is_freed() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let (inner, thread) = (engine.inner.unwrap(), Thread::of(engine.inner.unwrap()).unwrap());
        let registry = inner.rcu().registry();
        // Above every pid that the kernel assigns (PID_MAX_LIMIT is 2^22).
        let identity = Identity { pid: 1 << 23, tid: 1 << 23, ..Identity::default() };
        let dead =
            registry.register(&identity, FenceMode::Full, &mut |_, _| panic!("there is room")).unwrap();
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
