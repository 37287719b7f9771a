//! Death between any two instructions: `ptrace(2)` steps a child through an operation and kills it on the way. The
//! processes that come after must find everything in order.

use crate::support::{Arena, Child, Dice, SLOTS, die, done};
use unspin_rcu::deferred::{DeferredFrees, Exclusive, LARGE};
use unspin_rcu::registry::{Recovery, SweepScope};
use unspin_rcu::work::{FreeAttempt, PendingFree};
use unspin_rcu::{FenceMode, ParticipantId};
use unspin_sync::atomic::{AtomicU64, Ordering};
use unspin_sys::process::Identity;

/// Maximum number of places to die at in one operation. If an operation has more instructions, the places differ from
/// run to run. Each place costs half the operation's length in steps of 3 to 40 µs. The nightly tier, which is optimised, kills
/// at every one of some hundred instructions, all others at a sample of them.
fn deaths() -> u64 {
    if std::env::var_os("UNSPIN_TIER").is_some() { 400 } else { 24 }
}

/// How a stepped child ended, and after how many steps.
enum Ended {
    Finished(u64),
    Killed,
}

/// Runs `setup` and then `body` in a child, and kills it after `steps` instructions of `body`.
fn step<S>(steps: u64, setup: impl FnOnce() -> S, body: impl FnOnce(S)) -> Ended {
    let child = Child::run(|| {
        let ready = setup();
        // SAFETY: requests tracing, and stops until the parent steps on.
        unsafe {
            assert_eq!(libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0), 0, "ptrace is not permitted here");
            libc::raise(libc::SIGSTOP);
        }
        body(ready);
    });
    let mut status = 0;
    for n in 0..=steps {
        // SAFETY: the child is ours, and is stopped whenever it is asked to step.
        unsafe {
            libc::waitpid(child.pid(), &mut status, 0);
            if libc::WIFEXITED(status) {
                assert_eq!(libc::WEXITSTATUS(status), 0, "the child failed");
                child.reaped();
                return Ended::Finished(n);
            }
            assert!(libc::WIFSTOPPED(status));
            if n < steps {
                libc::ptrace(libc::PTRACE_SINGLESTEP, child.pid(), 0, 0);
            }
        }
    }
    drop(child);
    Ended::Killed
}

/// Calls `check` after `body` was killed at each of [`deaths`] places, in a new arena made by `prepare`; and once after
/// it was not killed. `setup` runs before `body` in the same process, and is not killed.
fn die_everywhere<T: 'static, S>(
    prepare: impl Fn() -> &'static Arena<T>,
    setup: impl Fn(&'static Arena<T>) -> S,
    body: impl Fn(&'static Arena<T>, S),
    check: impl Fn(&'static Arena<T>),
) {
    let arena = prepare();
    let Ended::Finished(length) = step(u64::MAX, || setup(arena), |ready| body(arena, ready)) else {
        unreachable!("no child lives that long")
    };
    check(arena);
    let mut dice = Dice::new();
    let deaths = deaths().min(length);
    for death in 0..deaths {
        let arena = prepare();
        let place = length * death / deaths + dice.below(length / deaths);
        println!("killed after {place} of {length} instructions");
        step(place, || setup(arena), |ready| body(arena, ready));
        check(arena);
    }
}

#[test]
fn sigkill_at_any_step_of_register_leaks_no_slot() {
    // SAFETY: atomics are valid when zeroed.
    let new = || unsafe { Arena::<[AtomicU64; SLOTS]>::new() };
    let body = |arena: &'static Arena<[AtomicU64; SLOTS]>, me| {
        let registry = arena.rcu().registry();
        for _ in 0..2 {
            let mine = registry.register(&me, FenceMode::Full, &mut done).unwrap();
            arena.rest[mine.index()].fetch_add(1, Ordering::SeqCst);
            // SAFETY: registered above, by this thread.
            unsafe {
                let section = arena.slots[mine.index()].enter(&arena.domain, FenceMode::Full);
                arena.slots[mine.index()].leave(section);
                arena.rest[mine.index()].fetch_sub(1, Ordering::SeqCst);
                registry.unregister(mine);
            }
        }
    };
    die_everywhere(
        new,
        |_| Identity::current(),
        body,
        |arena| {
            let (me, registry) = (Identity::current(), arena.rcu().registry());
            arena.rcu().synchronize().unwrap();
            let mut release = |who: ParticipantId, _: &Identity| {
                arena.rest[who.index()].store(0, Ordering::SeqCst);
                Recovery::Done
            };
            registry.sweep(&me, SweepScope::All, &mut release);
            for _ in 0..SLOTS {
                let mine = registry.register(&me, FenceMode::Full, &mut |_, _| unreachable!()).unwrap();
                assert_eq!(arena.rest[mine.index()].load(Ordering::SeqCst), 0);
            }
        },
    );
}

#[test]
fn sigkill_at_any_step_of_sweep_is_taken_over() {
    let prepare = || {
        // SAFETY: an atomic is valid when zeroed.
        let arena = unsafe { Arena::<AtomicU64>::new() };
        Child::run(|| {
            let reader = arena.rcu().join().unwrap();
            let _section = reader.read();
            die()
        })
        .settled();
        arena
    };
    let sweep = |arena: &'static Arena<AtomicU64>, me| {
        arena.rcu().registry().sweep(&me, SweepScope::All, &mut |who, _| {
            assert_eq!(who.index(), 0);
            arena.rest.fetch_add(1, Ordering::SeqCst);
            Recovery::Done
        });
    };
    die_everywhere(
        prepare,
        |_| Identity::current(),
        sweep,
        |arena| {
            arena.rcu().synchronize().unwrap();
            sweep(arena, Identity::current());
            let calls = arena.rest.load(Ordering::SeqCst);
            assert!((1..=2).contains(&calls), "released {calls} times");
            let heir =
                arena.rcu().registry().register(&Identity::current(), FenceMode::Full, &mut done).unwrap();
            assert_eq!(heir.index(), 0);
        },
    );
}

/// Things to be freed, and the state of each: 0, 1 free begun, 2 freed.
#[repr(C)]
struct Heap {
    deferred: DeferredFrees<8, 4>,
    things: [AtomicU64; 5],
    freed_again: AtomicU64,
}

impl Heap {
    fn free(&self, garbage: PendingFree, attempt: FreeAttempt) {
        let thing = &self.things[garbage.item as usize];
        match (attempt, thing.load(Ordering::SeqCst)) {
            (FreeAttempt::First, 0) => thing.store(1, Ordering::SeqCst),
            (FreeAttempt::First, _) => self.freed_again.store(1, Ordering::SeqCst),
            (FreeAttempt::Retry, _) => {}
        }
        thing.store(2, Ordering::SeqCst);
    }

    /// Fills the queue and registers as a worker.
    fn fill(arena: &'static Arena<Heap>) -> ParticipantId {
        let (rcu, heap) = (arena.rcu(), &arena.rest);
        for item in 0..heap.things.len() as u64 {
            heap.deferred().call(item, LARGE + item % 2, rcu.start_poll()).unwrap();
        }
        rcu.registry().register(&Identity::current(), FenceMode::Full, &mut done).unwrap()
    }

    /// Frees everything.
    fn drain(arena: &'static Arena<Heap>, me: ParticipantId) {
        let (rcu, heap) = (arena.rcu(), &arena.rest);
        let free = |garbage, attempt| heap.free(garbage, attempt);
        heap.deferred().reap(|cookie| rcu.poll(cookie), free);
        while heap.deferred.work_queue().work(&rcu.registry(), me, free) {}
    }

    fn deferred(&self) -> Exclusive<'_, 8, 4> {
        // SAFETY: a child is the only user while it lives, and its parent afterwards.
        unsafe { self.deferred.exclusive() }
    }

    fn is_drained(&self) -> bool {
        self.deferred().is_empty() && self.deferred.work_queue().is_empty()
    }
}

fn new_heap() -> &'static Arena<Heap> {
    // SAFETY: queue and atomics are valid when zeroed.
    unsafe { Arena::new() }
}

#[test]
fn sigkill_at_any_step_of_reap_frees_each_item_once() {
    die_everywhere(new_heap, Heap::fill, Heap::drain, |arena| {
        let rcu = arena.rcu();
        Heap::drain(
            arena,
            rcu.registry().register(&Identity::current(), FenceMode::Full, &mut done).unwrap(),
        );
        let heap = &arena.rest;
        assert!(heap.things.iter().all(|thing| thing.load(Ordering::SeqCst) == 2), "lost");
        assert_eq!(heap.freed_again.load(Ordering::SeqCst), 0, "freed twice");
        assert!(heap.is_drained());
    });
}

#[test]
fn sigkill_at_any_step_of_defer_is_all_or_nothing() {
    let call = |arena: &'static Arena<Heap>, cookie| arena.rest.deferred().call(3, 8, cookie).unwrap();
    die_everywhere(
        new_heap,
        |arena| arena.rcu().start_poll(),
        call,
        |arena| {
            let mut freed = Vec::new();
            let queued = arena.rest.deferred().len();
            arena.rest.deferred().reap(|cookie| arena.rcu().poll(cookie), |garbage, _| freed.push(garbage));
            assert_eq!(freed, vec![PendingFree { item: 3, bytes: 8 }; queued]);
        },
    );
}
