//! IPC_RMID against operations with and without the lock.

use super::*;

fn remove(world: &World, me: u32) {
    world.acquire(me);
    world.section(me, |section| section.remove());
    let late = fast::perform(&world.sems[0], op(0, 1), pid(me));
    assert_eq!(late, Err(FastPathError::NeedsLock), "performed on a removed set");
}

fn post(world: &World, me: u32) {
    if world.semop(me, op(0, 1)).is_ok() {
        // Relaxed: read when all threads have been joined.
        world.dead.fetch_or(1 << 8, Ordering::Relaxed);
    }
}

fn take(world: &World, me: u32) {
    match world.semop(me, op(0, -1)) {
        // Relaxed: as in `post`.
        Ok(()) => drop(world.dead.fetch_or(1 << 9, Ordering::Relaxed)),
        Err(errno) => assert_eq!(errno, Errno::EIDRM),
    }
}

/// Every wait ends; no operation is performed after the removal; a take that succeeded has its post.
#[test]
fn removal_ends_every_wait() {
    explore(
        2,
        || World::new(1, 3),
        &[remove, post, take],
        |world| {
            // Relaxed: all threads have been joined.
            let notes = world.dead.load(Ordering::Relaxed);
            assert_ne!(notes & 0x300, 0x200, "took a token that was not posted");
            assert!(world.word(0).is_slow());
            assert_eq!(world.set.contended.waiters.load(Ordering::Relaxed), 0);
            let left = u32::from(notes & 0x100 != 0) - u32::from(notes & 0x200 != 0);
            assert_eq!(world.word(0).value() as u32, left);
        },
    );
}

#[test]
#[should_panic(expected = "performed on a removed set")]
fn planted_removal_leaves_words_fast() {
    fn remove(world: &World, me: u32) {
        world.acquire(me);
        world.section(me, |section| {
            section.space.set.perm.delete();
            section.evict_all();
        });
        let late = fast::perform(&world.sems[0], op(0, 1), pid(me));
        assert_eq!(late, Err(FastPathError::NeedsLock), "performed on a removed set");
    }
    explore(2, || World::new(1, 3), &[remove, post], |_| {});
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_removal_leaves_waits() {
    fn remove(world: &World, me: u32) {
        world.acquire(me);
        world.section(me, |section| {
            section.mark_all_slow();
            section.space.set.perm.delete();
        });
    }
    fn take(world: &World, me: u32) {
        let _ = world.semop(me, op(0, -1));
    }
    explore(2, || World::new(1, 3), &[remove, take], |_| {});
}
