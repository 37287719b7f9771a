//! The lock: mutual exclusion, no lost wake-up, no takeover from a living owner.

use super::*;
use loom::thread::yield_now;

fn hold(world: &World, me: u32) {
    world.acquire(me);
    world.write();
    world.set.lock().release();
}

#[test]
fn one_at_a_time_and_nobody_sleeps_for_ever() {
    explore(3, || World::new(1, 2), &[hold, hold], |world| assert_eq!(world.read(), 2));
}

#[test]
fn three_take_turns() {
    explore(2, || World::new(1, 3), &[hold, hold, hold], |world| assert_eq!(world.read(), 3));
}

/// Exactly one thread takes over the lock of a dead owner, and it sees what the owner wrote.
#[test]
fn one_inherits_from_the_dead() {
    fn die(world: &World, _: u32) {
        world.write();
        world.step();
        world.kill(3);
    }
    // Tries twice: two threads that try without limit would make a model that never ends.
    fn heir(world: &World, me: u32) {
        for _ in 0..2 {
            if world.set.lock().inherit(World::owner(me), &|owner| world.is_dead(owner.index())) {
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
    explore(2, held, &[die, heir, heir], |world| {
        if last(&world.set.contended.overwriter) == 0 {
            assert_eq!(world.acquire_or_inherit(0), Taken::Inherited, "nobody saw the death in time");
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
fn planted_an_heir_that_stores_where_it_should_exchange() {
    fn heir(world: &World, me: u32) {
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
    explore(3, held, &[heir, heir], |_| {});
}

/// An owner that is not seen as registered counts as dead. So a thread that reads an owner in the lock must see its
/// registration.
#[test]
fn a_living_owner_is_not_robbed() {
    fn newcomer(world: &World, me: u32) {
        // Relaxed: stands for the registration; the lock's own Release must publish it.
        world.set.contended.overwriter.store(1, Ordering::Relaxed);
        hold(world, me);
    }
    fn contender(world: &World, me: u32) {
        // Relaxed: see above.
        let dead = |_| world.set.contended.overwriter.load(Ordering::Relaxed) == 0;
        world.step();
        assert!(!world.set.lock().inherit(World::owner(me), &dead), "robbed");
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

    /// Registers, as in `a_living_owner_is_not_robbed`, and takes the lock.
    fn join_and_hold(&self, world: &World, me: u32) {
        // Relaxed: as there.
        world.set.contended.overwriter.store(1, Ordering::Relaxed);
        self.hold(world, me);
    }

    fn inherit(&self, world: &World, _: u32) {
        world.step();
        if self.word.load(Ordering::Acquire) != 0 {
            // Relaxed: as there.
            assert_eq!(world.set.contended.overwriter.load(Ordering::Relaxed), 1, "robbed");
        }
    }
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_a_release_that_does_not() {
    Wrong::model(Ordering::AcqRel, Ordering::Relaxed, [Wrong::hold, Wrong::hold]);
}

#[test]
#[should_panic(expected = "robbed")]
fn planted_a_name_that_is_not_released() {
    Wrong::model(Ordering::Acquire, Ordering::Release, [Wrong::inherit, Wrong::join_and_hold]);
}

/// An owner takes the lock twice. Another thread takes it too, and a third checks whether the owner that the lock names
/// holds it. The check must never find that it does not.
mod suspicion {
    use super::*;
    use crate::sync::lock_count::{Busy, Locks};

    struct Suspects {
        world: World,
        busy: Busy,
    }

    impl Suspects {
        /// Like `Inner::acquire` and `Held::release`, twice, each time after a sleep.
        fn own(&self, leave_first: bool) {
            let (lock, me) = (self.world.set.lock(), World::owner(1));
            let mut locks = Locks::default();
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
            assert!(!self.busy.disproves(self.world.set.lock(), World::owner(1)), "robbed");
        }

        /// Like `disproves`, but reads the word once instead of twice.
        fn suspect_rashly(&self) {
            self.world.step();
            let idle = self.busy.of_the_dead().is_none();
            self.world.step();
            assert!(!idle || self.world.set.lock().owner().is_none(), "robbed");
        }
    }

    fn model(owner: fn(&Suspects), suspicious: fn(&Suspects)) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(4);
        builder.check(move || {
            let both = Arc::new(Suspects { world: World::new(1, 2), busy: Busy::default() });
            let shared = both.clone();
            let other = loom::thread::spawn(move || owner(&shared));
            suspicious(&both);
            other.join().unwrap();
        });
    }

    #[test]
    fn a_genuine_owner_is_never_disproved() {
        model(|it| it.own(false), Suspects::suspect);
    }

    #[test]
    #[should_panic(expected = "robbed")]
    fn planted_a_suspicion_that_looks_once() {
        model(|it| it.own(false), Suspects::suspect_rashly);
    }

    #[test]
    #[should_panic(expected = "robbed")]
    fn planted_an_owner_who_says_too_early_that_he_has_let_go() {
        model(|it| it.own(true), Suspects::suspect);
    }
}
