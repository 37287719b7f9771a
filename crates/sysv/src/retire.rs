//! Memory that readers may still look at: freed a grace period after it was unlinked.
//!
//! Small blocks go back to the heap by whoever holds the registry lock next; large ones, whose pages are given
//! back to the system, by whoever has released it (report 001: "use the workqueue to enable RCU freeing vmalloced
//! entries").

use crate::arena::Arena;
use crate::engine::Inner;
use crate::heap;
use crate::ipc::{Class, Registry};
use crate::names::{Call, LockName, key};
use crate::participant::Participant;
use crate::thread::Thread;
use crate::time;
use unspin_meter::{Outcome, Sample};
use unspin_rcu::Rcu;
use unspin_rcu::deferred::Exclusive;
use unspin_rcu::work::{Attempt, Garbage};
use unspin_sync::machine::{AtomicBool, Ordering::Relaxed};
use unspin_sys::sched;

/// Retired blocks before a grace period is asked for: it takes a membarrier and a look at every thread.
const BATCH: usize = 16;
/// Polls, with the CPU given away in between, when the queue is full; then the block is given up.
const PATIENCE: u32 = 1_000;

/// The last one was given up: until there is room again nobody waits for it, since each would wait as long.
static IN_VAIN: AtomicBool = AtomicBool::new(false);

fn ring(arena: &Arena) -> Exclusive<'_, 1024, 256> {
    // SAFETY: called under the registry lock only (or while the arena is being made), which guards the ring, and
    // the result is dropped before another is made.
    unsafe { arena.header().deferred.0.exclusive() }
}

/// Retires a payload that its caller has announced ([`heap::unpublish`]) and unlinked. Under the registry lock.
pub(crate) fn retire(arena: &Arena, rcu: &Rcu<'_>, me: &Participant, payload: u64, bytes: u64) {
    let cookie = rcu.start_poll();
    // Relaxed (all): a hint.
    let patience = if IN_VAIN.load(Relaxed) { 1 } else { PATIENCE };
    let queued = (0..patience).any(|_| {
        let queued = ring(arena).call(payload, bytes, cookie).is_ok();
        if !queued && reap_ring(arena, rcu, me) == 0 && patience > 1 {
            sched::yield_now();
        }
        queued
    });
    IN_VAIN.store(!queued, Relaxed);
    // If the queue stayed full, some reader has been stopped within its section for long: the block is lost rather
    // than taken from under it.
    heap::publish(me);
}

/// Frees what is due; returns how many blocks. Under the registry lock.
pub(crate) fn reap(registry: &Registry<'_>, thread: &Thread) -> u64 {
    if ring(registry.arena).len() < BATCH {
        return 0;
    }
    let start = time::ticks();
    let reaped = reap_ring(registry.arena, &registry.rcu, registry.me);
    if let Some(table) = thread.table() {
        let spun = time::ticks().wrapping_sub(start);
        let outcome = if reaped > 0 { Outcome::Spun } else { Outcome::Rejected };
        table.record(key(LockName::GracePeriod, Call::Rmid), &Sample { outcome, hold: 0, spun, slept: 0 });
    }
    reaped as u64
}

fn reap_ring(arena: &Arena, rcu: &Rcu<'_>, me: &Participant) -> usize {
    // What is being freed has a record of its own; what its caller has pending is another block.
    let pending = heap::pending(me);
    let reaped =
        ring(arena).reap(|cookie| rcu.poll(cookie), |garbage, _| heap::free(arena, me, garbage.item));
    heap::restore(me, pending);
    reaped
}

/// Settles what the lock's dead holder was freeing, before anybody allocates.
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

/// Whether a payload waits for its grace period, or to be freed after it. Under the registry lock.
pub(crate) fn is_retired(arena: &Arena, payload: u64) -> bool {
    times_retired(arena, payload) > 0
}

fn times_retired(arena: &Arena, payload: u64) -> usize {
    let is_it = |garbage: &Garbage| garbage.item == payload;
    ring(arena).iter().filter(is_it).count()
        + arena.header().deferred.0.work_queue().iter().filter(is_it).count()
}

/// Frees some large blocks, outside the registry lock: their pages first, which takes long.
pub(crate) fn work(inner: &'static Inner, thread: &Thread) {
    let queue = inner.arena.header().deferred.0.work_queue();
    // Each block takes the registry lock, behind which is this function: calls within calls would use up the stack.
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

/// Frees one large block, if there is one that nobody else is freeing.
fn free_large(inner: &'static Inner, thread: &Thread) -> bool {
    let queue = inner.arena.header().deferred.0.work_queue();
    let registry = inner.rcu().registry();
    queue.work(&registry, thread.participant(), |garbage, attempt| match attempt {
        Attempt::First => {
            inner.arena.punch(garbage.item, garbage.bytes);
            inner.with_registry(thread, Class::Sem, Call::Rmid, |held| {
                heap::free(held.arena, held.me, garbage.item)
            });
        }
        // Somebody was killed here. The block may be free by now, in use again, and retired again: once it is retired as long
        // as this goes on.
        Attempt::Again => inner.with_registry(thread, Class::Sem, Call::Rmid, |held| {
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
    use unspin_rcu::Fences;
    use unspin_sys::process::Identity;

    /// Whoever frees a large block is killed before it is free: the next one frees it.
    #[test]
    fn what_a_dead_worker_was_freeing_is_freed() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let (inner, thread) = (engine.inner.unwrap(), Thread::of(engine.inner.unwrap()).unwrap());
        let registry = inner.rcu().registry();
        // Above every pid that the kernel gives out (PID_MAX_LIMIT is 2^22).
        let nobody = Identity { pid: 1 << 23, tid: 1 << 23, ..Identity::default() };
        let dead = registry.register(&nobody, Fences::Full, &mut |_, _| panic!("there is room")).unwrap();
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
