//! The lock: mutual exclusion, no lost wake-up, no takeover from a living owner.

use super::*;
use loom::thread::yield_now;

fn hold(world: &World, me: u32) {
    world.acquire(me);
    world.write();
    world.set.lock().release();
}

#[test]
fn lock_excludes_and_wakes_all_waiters() {
    explore(3, || World::new(1, 2), &[hold, hold], |world| assert_eq!(world.read(), 2));
}

#[test]
fn three_threads_exclude_each_other() {
    explore(2, || World::new(1, 3), &[hold, hold, hold], |world| assert_eq!(world.read(), 3));
}

/// Exactly one thread takes over the lock of a dead owner, and it sees what the owner wrote.
#[test]
fn one_waiter_takes_over_dead_owners_lock() {
    fn die(world: &World, _: u32) {
        world.write();
        world.step();
        world.kill(3);
    }
    // Tries twice: two threads that try without limit would make a model that never ends.
    fn next_receiver(world: &World, me: u32) {
        for _ in 0..2 {
            if world.set.lock().take_over(World::owner(me), &|owner| world.is_dead(owner.index())) {
                // Relaxed: a count.
                world.set.contended.overwriter.fetch_add(1, Ordering::Relaxed);
                world.write();
                return world.set.lock().release();
            }
            if world.set.lock().try_acquire(World::owner(me)) {
                world.write();
                return world.set.lock().release();
            }
            loom::thread::yield_now();
        }
    }
    let held = || {
        let world = World::new(1, 4);
        world.acquire(3);
        world
    };
    explore(2, held, &[die, next_receiver, next_receiver], |world| {
        if last(&world.set.contended.overwriter) == 0 {
            assert_eq!(world.acquire_or_take_over(0), Taken::OwnerDied, "the death was not noticed");
            world.set.lock().release();
        } else {
            assert_eq!(last(&world.set.contended.overwriter), 1);
        }
        assert_eq!(world.set.lock().owner(), None);
        world.write();
    });
}

/// Two threads that find the owner dead must not both take the lock, and neither may take it from the other.
#[test]
#[should_panic(expected = "Causality violation")]
fn planted_takeover_by_plain_store() {
    fn next_receiver(world: &World, me: u32) {
        if world.is_dead(3) && world.set.lock().owner() == Some(World::owner(3)) {
            world.step();
            // Wrong on purpose: the lock is taken away from its present owner.
            world.set.lock().release();
            if world.set.lock().try_acquire(World::owner(me)) {
                world.write();
                world.step();
                world.set.lock().release();
            }
        }
    }
    let held = || {
        let world = World::new(1, 4);
        world.acquire(3);
        world.kill(3);
        world
    };
    explore(3, held, &[next_receiver, next_receiver], |_| {});
}

/// An owner that is not seen as registered counts as dead. So a thread that reads an owner in the lock must see its
/// registration.
#[test]
fn lock_of_stopped_owner_is_not_taken_over() {
    fn newcomer(world: &World, me: u32) {
        // Relaxed: stands for the registration; the lock's own Release must publish it.
        world.set.contended.overwriter.store(1, Ordering::Relaxed);
        hold(world, me);
    }
    fn contender(world: &World, me: u32) {
        // Relaxed: see above.
        let dead = |_| world.set.contended.overwriter.load(Ordering::Relaxed) == 0;
        world.step();
        assert!(!world.set.lock().take_over(World::owner(me), &dead), "robbed");
    }
    explore(3, || World::new(1, 2), &[contender, newcomer], |_| {});
}

/// A lock whose mistakes can be chosen.
struct Wrong {
    word: AtomicU32,
    take: Ordering,
    release: Ordering,
}

impl Wrong {
    fn model(take: Ordering, release: Ordering, threads: [fn(&Wrong, &World, u32); 2]) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let both = Arc::new((Wrong { word: AtomicU32::new(0), take, release }, World::new(1, 2)));
            let shared = both.clone();
            let other = loom::thread::spawn(move || threads[1](&shared.0, &shared.1, 2));
            threads[0](&both.0, &both.1, 1);
            other.join().unwrap();
        });
    }

    fn hold(&self, world: &World, me: u32) {
        // Relaxed on failure: nothing is used.
        while self.word.compare_exchange(0, me, self.take, Ordering::Relaxed).is_err() {
            yield_now();
        }
        world.write();
        world.step();
        self.word.store(0, self.release);
    }

    /// Registers, as in `lock_of_stopped_owner_is_not_taken_over`, and takes the lock.
    fn join_and_hold(&self, world: &World, me: u32) {
        // Relaxed: as there.
        world.set.contended.overwriter.store(1, Ordering::Relaxed);
        self.hold(world, me);
    }

    fn take_over(&self, world: &World, _: u32) {
        world.step();
        if self.word.load(Ordering::Acquire) != 0 {
            // Relaxed: as there.
            assert_eq!(world.set.contended.overwriter.load(Ordering::Relaxed), 1, "robbed");
        }
    }
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_lock_release_without_release_ordering() {
    Wrong::model(Ordering::AcqRel, Ordering::Relaxed, [Wrong::hold, Wrong::hold]);
}

#[test]
#[should_panic(expected = "robbed")]
fn planted_owner_word_without_release() {
    Wrong::model(Ordering::Acquire, Ordering::Release, [Wrong::take_over, Wrong::join_and_hold]);
}

/// An owner takes the lock twice. Another thread takes it too, and a third checks whether the owner that the lock names
/// holds it. The check must never find that it does not.
mod suspicion {
    use super::*;
    use crate::sync::lock_count::{LockCount, OwnLockCount};

    struct Suspects {
        world: World,
        busy: LockCount,
    }

    impl Suspects {
        /// Like `Inner::acquire` and `Held::release`, twice, each time after a sleep.
        fn own(&self, leave_first: bool) {
            let (lock, me) = (self.world.set.lock(), World::owner(1));
            let mut locks = OwnLockCount::default();
            for _ in 0..2 {
                locks = locks.more();
                self.busy.enter(locks);
                self.world.step();
                // Finds the lock taken, and sleeps.
                locks = locks.less();
                self.busy.leave(locks);
                self.world.step();
                locks = locks.more();
                self.busy.enter(locks);
                self.world.step();
                if lock.try_acquire(me) {
                    self.world.step();
                    if leave_first {
                        self.busy.leave(locks.less());
                        self.world.step();
                    }
                    lock.release();
                }
                self.world.step();
                locks = locks.less();
                self.busy.leave(locks);
                self.world.step();
            }
        }

        fn suspect(&self) {
            self.world.step();
            assert!(!self.busy.disproves_owner(self.world.set.lock(), World::owner(1)), "robbed");
        }

        /// Like `disproves_owner`, but reads the word once instead of twice.
        fn suspect_rashly(&self) {
            self.world.step();
            let idle = self.busy.of_dead().is_none();
            self.world.step();
            assert!(!idle || self.world.set.lock().owner().is_none(), "robbed");
        }
    }

    fn model(owner: fn(&Suspects), suspicious: fn(&Suspects)) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(4);
        builder.check(move || {
            let both = Arc::new(Suspects { world: World::new(1, 2), busy: LockCount::default() });
            let shared = both.clone();
            let other = loom::thread::spawn(move || owner(&shared));
            suspicious(&both);
            other.join().unwrap();
        });
    }

    #[test]
    fn genuine_owner_is_never_disproved() {
        model(|it| it.own(false), Suspects::suspect);
    }

    #[test]
    #[should_panic(expected = "robbed")]
    fn planted_disproof_with_one_read() {
        model(|it| it.own(false), Suspects::suspect_rashly);
    }

    #[test]
    #[should_panic(expected = "robbed")]
    fn planted_count_published_before_release() {
        model(|it| it.own(true), Suspects::suspect);
    }
}
