//! Waiting, being served, and withdrawing.

use super::*;

fn post(world: &World, me: u32) {
    world.write();
    world.semop(me, op(0, 1)).unwrap();
}

fn take(world: &World, me: u32) {
    assert_eq!(world.semop(me, op(0, -1)), Ok(()));
    assert_eq!(world.read(), 1, "the poster's data");
}

/// The post may come before, while, or after the waiter reads the value, queues and falls asleep. It is never missed,
/// and the waiter sees what the poster wrote.
#[test]
fn post_concurrent_with_enqueue_wakes_waiter() {
    explore(
        3,
        || World::new(1, 2),
        &[take, post],
        |world| {
            assert_eq!(
                (world.word(0).value(), world.word(0).pid()),
                (0, 100),
                "the waiter's operation was last"
            );
            world.assert_at_rest();
        },
    );
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_waiter_reads_before_mark_slow() {
    fn take(world: &World, me: u32) {
        world.arm_exit_notice(me, &[op(0, -1)]);
        world.acquire(me);
        let (queued, _) = world.section(me, |section| {
            let ops = world.participants[me as usize].ops();
            let answer = section.evaluate(ops.clone(), None);
            section.mark_slow(0);
            match answer {
                Performed::Blocks(_) => section.enqueue(None),
                _ => section.commit(ops, pid(me), None),
            }
            matches!(answer, Performed::Blocks(_))
        });
        if queued {
            world.wait(me).unwrap();
        }
    }
    explore(3, || World::new(1, 2), &[take, post], |_| {});
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_post_without_wake() {
    fn post(world: &World, me: u32) {
        world.arm_exit_notice(me, &[op(0, 1)]);
        world.acquire(me);
        let mut section = SetSection::new(world.space(), me);
        world.perform_within(&mut section, me);
        section.restore_fast();
        world.set.lock().release();
    }
    fn take(world: &World, me: u32) {
        world.semop(me, op(0, -1)).unwrap();
    }
    explore(3, || World::new(1, 2), &[take, post], |_| {});
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_grant_without_release() {
    fn grant(world: &World, _: u32) {
        world.write();
        // Relaxed: wrong on purpose.
        world.participants[0].waiter.status.store(status::GRANTED, Ordering::Relaxed);
    }
    fn take(world: &World, me: u32) {
        while world.try_end(me).is_none() {
            loom::thread::yield_now();
        }
        world.read();
    }
    let queued = || {
        let world = World::new(1, 2);
        assert_eq!(world.perform(0, &[op(0, -1)]), None);
        world
    };
    explore(3, queued, &[take, grant], |_| {});
}

/// Two waiters, two posts: both are served, whether they sleep or not.
#[test]
fn two_posts_serve_two_waiters() {
    fn post_two(world: &World, me: u32) {
        world.semop(me, op(0, 1)).unwrap();
        world.semop(me, op(0, 1)).unwrap();
    }
    fn take(world: &World, me: u32) {
        assert_eq!(world.semop(me, op(0, -1)), Ok(()));
    }
    explore(
        2,
        || World::new(1, 3),
        &[post_two, take, take],
        |world| {
            assert_eq!(world.word(0).value(), 0);
            world.assert_at_rest();
        },
    );
}

/// A waiter that only spins needs no wake-up, and gets none.
#[test]
fn spinning_waiter_is_not_woken() {
    fn spin(world: &World, me: u32) {
        while world.try_end(me).is_none() {
            loom::thread::yield_now();
        }
    }
    fn post(world: &World, me: u32) {
        world.arm_exit_notice(me, &[op(0, 1)]);
        world.acquire(me);
        let (_, wakes) = world.section(me, |section| world.perform_within(section, me));
        assert!(wakes.iter().all(|wake| !wake.asleep));
    }
    explore(3, world_with_waiter, &[spin, post], World::assert_at_rest);
}

fn world_with_waiter() -> World {
    let world = World::new(1, 2);
    assert_eq!(world.perform(0, &[op(0, -1)]), None);
    world
}

/// A waiter's life is checked after the lock is released. The confirmation must not undo the waiter's acknowledgement.
#[test]
fn confirm_after_acknowledge_keeps_idle() {
    fn take(world: &World, me: u32) {
        world.wait(me).unwrap();
    }
    fn post(world: &World, me: u32) {
        world.semop(me, op(0, 1)).unwrap();
    }
    explore(3, world_with_waiter, &[take, post], World::assert_at_rest);
}

#[test]
#[should_panic(expected = "left: 4")]
fn planted_confirmation_by_plain_store() {
    fn take(world: &World, me: u32) {
        while world.try_end(me).is_none() {
            loom::thread::yield_now();
        }
    }
    fn post(world: &World, _: u32) {
        let waiter = &world.participants[0].waiter;
        waiter.status.swap(status::GRANTED, Ordering::AcqRel);
        world.step();
        // Acquire: as in wake_all.
        if waiter.status.load(Ordering::Acquire) == status::GRANTED {
            // Relaxed: wrong on purpose: a store where a compare-and-swap belongs.
            world.step();
            waiter.status.store(status::CONFIRMED, Ordering::Relaxed);
        }
    }
    explore(3, world_with_waiter, &[take, post], |world| {
        assert_eq!(last(&world.participants[0].waiter.status), status::IDLE);
    });
}

/// A timeout against a post: either the operation was performed, or the token is still there for the next thread.
#[test]
fn withdrawn_waiter_got_token_or_left_it() {
    fn give_up(world: &World, me: u32) {
        let left = match world.give_up(me) {
            Ok(()) => 0,
            Err(errno) => {
                assert_eq!(errno, Errno::EAGAIN);
                1
            }
        };
        world.thing.with_mut(|thing| {
            // SAFETY: loom checks that no other thread accesses it meanwhile.
            unsafe { *thing = left }
        });
    }
    fn post(world: &World, me: u32) {
        world.semop(me, op(0, 1)).unwrap();
    }
    explore(3, world_with_waiter, &[give_up, post], |world| {
        assert_eq!(world.word(0).value(), world.read() as i32);
        world.assert_at_rest();
    });
}

#[test]
#[should_panic(expected = "performed and failed")]
fn planted_withdraw_without_status_check() {
    fn give_up(world: &World, me: u32) {
        world.acquire(me);
        // Relaxed: wrong on purpose: the wait may have ended in another way before the lock was taken.
        world.participants[me as usize]
            .waiter
            .status
            .store(status::failure(Errno::EAGAIN.0), Ordering::Relaxed);
        world.section(me, |_| {});
        if world.try_end(me) == Some(Err(Errno::EAGAIN)) {
            assert_ne!(world.word(0).pid(), pid(me), "performed and failed");
        }
    }
    fn post(world: &World, me: u32) {
        world.semop(me, op(0, 1)).unwrap();
    }
    explore(3, world_with_waiter, &[give_up, post], |_| {});
}
