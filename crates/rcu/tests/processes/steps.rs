//! Death between any two instructions: a child is stepped through an operation by `ptrace(2)` and killed on
//! the way, and those who come after must find everything in order.

use crate::support::{Arena, Child, Dice, SLOTS, die, done};
use unspin_rcu::deferred::{Deferred, LARGE};
use unspin_rcu::registry::{Extent, Swept};
use unspin_rcu::work::{Attempt, Garbage};
use unspin_rcu::{Fences, Participant};
use unspin_sync::atomic::{AtomicU64, Ordering};
use unspin_sys::process::Identity;

/// Places to die at, spread over an operation, and elsewhere in every run. Each costs half the operation's
/// length, some thousands of instructions, in steps of 3 to 40 us.
const DEATHS: u64 = 24;

/// How a stepped child ended, and after how many steps.
enum Ended {
    Finished(u64),
    Killed,
}

/// Runs `body` in a child for `steps` instructions, and kills it there. Finding out who the child is takes
/// longer than all the rest, and is not stepped through.
fn step(steps: u64, body: impl FnOnce(&Identity)) -> Ended {
    let child = Child::run(|| {
        let me = Identity::current();
        // SAFETY: asks to be traced, and stops until the parent steps on.
        unsafe {
            assert_eq!(libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0), 0, "ptrace is not permitted here");
            libc::raise(libc::SIGSTOP);
        }
        body(&me);
    });
    let mut status = 0;
    for n in 0..=steps {
        // SAFETY: the child is ours, and stopped whenever it is asked to step.
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

/// Calls `check` after `body` was killed at each of [`DEATHS`] places, in a new arena made by `prepare`; and
/// after it was not killed at all.
fn die_everywhere<T: 'static>(
    prepare: impl Fn() -> &'static Arena<T>,
    body: impl Fn(&'static Arena<T>, &Identity),
    check: impl Fn(&'static Arena<T>),
) {
    let arena = prepare();
    let Ended::Finished(length) = step(u64::MAX, |me| body(arena, me)) else { unreachable!() };
    check(arena);
    let mut dice = Dice::new();
    for death in 0..DEATHS {
        let arena = prepare();
        let place = length * death / DEATHS + dice.below(length / DEATHS);
        println!("killed after {place} of {length} instructions");
        step(place, |me| body(arena, me));
        check(arena);
    }
}

#[test]
fn whoever_dies_registering_leaves_no_slot_behind() {
    // SAFETY: atomics are valid when zeroed.
    let new = || unsafe { Arena::<[AtomicU64; SLOTS]>::new() };
    let body = |arena: &'static Arena<[AtomicU64; SLOTS]>, me: &Identity| {
        let registry = arena.rcu().registry();
        for _ in 0..2 {
            let mine = registry.register(me, Fences::Full, &mut done).unwrap();
            arena.rest[mine.index()].fetch_add(1, Ordering::SeqCst);
            // SAFETY: registered above, by this thread.
            unsafe {
                let section = arena.slots[mine.index()].enter(&arena.domain, Fences::Full);
                arena.slots[mine.index()].leave(section);
                arena.rest[mine.index()].fetch_sub(1, Ordering::SeqCst);
                registry.unregister(mine);
            }
        }
    };
    die_everywhere(new, body, |arena| {
        let (me, registry) = (Identity::current(), arena.rcu().registry());
        arena.rcu().synchronize().unwrap();
        let mut release = |who: Participant, _: &Identity| {
            arena.rest[who.index()].store(0, Ordering::SeqCst);
            Swept::Done
        };
        registry.sweep(&me, Extent::All, &mut release);
        for _ in 0..SLOTS {
            let mine = registry.register(&me, Fences::Full, &mut |_, _| unreachable!()).unwrap();
            assert_eq!(arena.rest[mine.index()].load(Ordering::SeqCst), 0);
        }
    });
}

#[test]
fn whoever_dies_sweeping_is_followed_by_another() {
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
    let sweep = |arena: &'static Arena<AtomicU64>, me: &Identity| {
        arena.rcu().registry().sweep(me, Extent::All, &mut |who, _| {
            assert_eq!(who.index(), 0);
            arena.rest.fetch_add(1, Ordering::SeqCst);
            Swept::Done
        });
    };
    die_everywhere(prepare, sweep, |arena| {
        arena.rcu().synchronize().unwrap();
        sweep(arena, &Identity::current());
        let calls = arena.rest.load(Ordering::SeqCst);
        assert!((1..=2).contains(&calls), "released {calls} times");
        let heir = arena.rcu().registry().register(&Identity::current(), Fences::Full, &mut done).unwrap();
        assert_eq!(heir.index(), 0);
    });
}

/// Things to be freed, and how far each has got: 0, 1 begun, 2 freed.
#[repr(C)]
struct Heap {
    deferred: Deferred<8, 4>,
    things: [AtomicU64; 5],
    freed_again: AtomicU64,
}

impl Heap {
    fn free(&self, garbage: Garbage, attempt: Attempt) {
        let thing = &self.things[garbage.item as usize];
        match (attempt, thing.load(Ordering::SeqCst)) {
            (Attempt::First, 0) => thing.store(1, Ordering::SeqCst),
            (Attempt::First, _) => self.freed_again.store(1, Ordering::SeqCst),
            (Attempt::Again, _) => {}
        }
        thing.store(2, Ordering::SeqCst);
    }
}

#[test]
fn whoever_dies_freeing_loses_nothing_and_frees_nothing_twice() {
    // SAFETY: queue and atomics are valid when zeroed.
    let new = || unsafe { Arena::<Heap>::new() };
    let body = |arena: &'static Arena<Heap>, me: &Identity| {
        let (rcu, heap) = (arena.rcu(), &arena.rest);
        let me = rcu.registry().register(me, Fences::Full, &mut done).unwrap();
        // SAFETY: the child is the only user while it lives, and its parent afterwards.
        let mut deferred = unsafe { heap.deferred.exclusive() };
        // What is queued already is known by the length, as an owner would know it from his own tables.
        for item in deferred.len() as u64..heap.things.len() as u64 {
            deferred.call(item, LARGE + item % 2, rcu.start_poll()).unwrap();
        }
        arena.reach(1);
        deferred.reap(|cookie| rcu.poll(cookie), |garbage, attempt| heap.free(garbage, attempt));
        let free = |garbage, attempt| heap.free(garbage, attempt);
        while heap.deferred.work_queue().work(&rcu.registry(), me, free) {}
    };
    die_everywhere(new, body, |arena| {
        let heap = &arena.rest;
        if arena.stage.load(Ordering::SeqCst) == 0 {
            // Died while filling the queue: nothing was freed, and what counts is whole.
            return body(arena, &Identity::current());
        }
        // SAFETY: as above.
        let mut deferred = unsafe { heap.deferred.exclusive() };
        let rcu = arena.rcu();
        deferred.reap(|cookie| rcu.poll(cookie), |garbage, attempt| heap.free(garbage, attempt));
        let me = rcu.registry().register(&Identity::current(), Fences::Full, &mut done).unwrap();
        let free = |garbage, attempt| heap.free(garbage, attempt);
        while heap.deferred.work_queue().work(&rcu.registry(), me, free) {}
        assert!(heap.things.iter().all(|thing| thing.load(Ordering::SeqCst) == 2), "lost");
        assert_eq!(heap.freed_again.load(Ordering::SeqCst), 0, "freed twice");
        assert!(deferred.is_empty() && heap.deferred.work_queue().is_empty());
    });
}
