//! The semaphore word: operations without a lock, and against a lock's holder.

use super::*;
use crate::sem::word::SLOW;

#[test]
fn posts_and_takes_are_conserved() {
    fn post(world: &World, me: u32) {
        assert_eq!(world.semop(me, op(0, 1)), Ok(()));
    }
    fn take(world: &World, me: u32) {
        if world.semop(me, nowait(0, -1)).is_ok() {
            world.semop(me, op(0, 1)).unwrap();
        }
    }
    explore(
        3,
        || World::new(1, 3),
        &[post, post, take],
        |world| {
            let word = world.word(0);
            assert_eq!(word.value(), 2);
            assert!((100..103).contains(&word.pid()));
            world.assert_at_rest();
        },
    );
}

/// Value and pid belong to the same operation.
#[test]
fn sempid_is_that_of_last_operation() {
    fn post(world: &World, me: u32) {
        world.semop(me, op(0, me as i16 + 1)).unwrap();
        let word = world.word(0);
        assert!(matches!((word.value(), word.pid()), (1, 100) | (2, 101) | (3, 100 | 101)));
    }
    explore(3, || World::new(1, 2), &[post, post], |world| assert_eq!(world.word(0).value(), 3));
}

fn read_if_taken(world: &World, me: u32) {
    if world.semop(me, nowait(0, -1)).is_ok() {
        assert_eq!(world.read(), 1);
    }
}

#[test]
fn writes_before_post_are_visible_after_take() {
    fn post(world: &World, me: u32) {
        world.write();
        world.semop(me, op(0, 1)).unwrap();
    }
    explore(3, || World::new(1, 2), &[read_if_taken, post], |_| {});
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_post_without_release() {
    fn post(world: &World, me: u32) {
        world.write();
        let word = &world.sems[0].word;
        // Relaxed: wrong on purpose.
        let _ = word.compare_exchange(0, Word::new(1, pid(me)).0, Ordering::Relaxed, Ordering::Relaxed);
    }
    explore(3, || World::new(1, 2), &[read_if_taken, post], |_| {});
}

/// A take sees what was written before the post, also if the post is made under the lock, and the take is not.
#[test]
fn post_under_lock_has_release_ordering() {
    fn post(world: &World, me: u32) {
        world.write();
        assert_eq!(world.perform(me, &[op(0, 1)]), Some(Ok(())));
    }
    explore(3, || World::new(1, 2), &[read_if_taken, post], |world| world.assert_at_rest());
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_restore_fast_without_release() {
    fn post(world: &World, me: u32) {
        world.acquire(me);
        world.sems[0].word.fetch_or(SLOW, Ordering::AcqRel);
        world.space().put(0, 1, pid(me));
        world.write();
        // Relaxed: wrong on purpose: what was done under the lock is not published with the fast word.
        world.step();
        world.sems[0].word.store(Word::new(1, pid(me)).0, Ordering::Relaxed);
        world.set.lock().release();
    }
    explore(3, || World::new(1, 2), &[read_if_taken, post], |_| {});
}

/// A thread without the lock never sees half of a change of two semaphores that is made under the lock.
#[test]
fn fast_path_never_sees_partial_vector() {
    fn change(world: &World, me: u32) {
        assert_eq!(world.perform(me, &[op(0, 1), op(1, 1)]), Some(Ok(())));
    }
    fn look(world: &World, _: u32) {
        let first = world.word(0);
        let second = world.word(1);
        if !first.is_slow() && !second.is_slow() && first.value() == 1 {
            assert_eq!(second.value(), 1);
        }
    }
    explore(3, || World::new(2, 2), &[look, change], |world| world.assert_at_rest());
}

#[test]
#[should_panic(expected = "left: 0")]
fn planted_vector_written_to_fast_words() {
    fn change(world: &World, me: u32) {
        for sem in &world.sems {
            world.step();
            sem.word.store(Word::new(1, pid(me)).0, Ordering::Release);
        }
    }
    fn look(world: &World, _: u32) {
        let first = world.word(0);
        let second = world.word(1);
        if !first.is_slow() && !second.is_slow() && first.value() == 1 {
            assert_eq!(second.value(), 1);
        }
    }
    explore(3, || World::new(2, 2), &[look, change], |_| {});
}
