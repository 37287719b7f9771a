//! Death of a lock's holder between the stores of a change of two words. A thread that stops there, keeps the lock, and
//! is found dead, plays the holder.

use super::*;
use crate::sem::change::Change;
use crate::sem::redo::{self, state};

/// The values that the change writes.
const CHANGE: [(usize, i32); 2] = [(0, 1), (1, 1)];

fn changes() -> impl Iterator<Item = (usize, Change)> {
    CHANGE.into_iter().map(|(sem, value)| (sem, Change::to(value)))
}

/// How far the dead holder got.
#[derive(Clone, Copy)]
enum Until {
    /// Both words are slow; nothing is recorded.
    MarkedSlow,
    /// The change is recorded. If it is the holder's own, it is decided by that.
    Prepared,
    /// A grant is decided: the waiter's status says so.
    Granted,
    /// One of the two words is written.
    Half,
    /// Both words are written; the record is not cleared.
    Applied,
}

/// Participant 1 changes both values until it dies.
fn change(world: &World, me: u32, until: Until) {
    world.acquire(me);
    let section = SetSection::new(world.space(), me);
    section.mark_all_slow();
    let writer = &world.participants[me as usize];
    if !matches!(until, Until::MarkedSlow) {
        redo::prepare(&world.space(), writer, (state::COMMITTED, me), (pid(me), 0), changes());
    }
    write_until(world, me, until);
    world.kill(me);
}

fn write_until(world: &World, me: u32, until: Until) {
    let words = match until {
        Until::Half => 1,
        Until::Applied => 2,
        _ => 0,
    };
    for &(sem, value) in &CHANGE[..words] {
        world.space().put(sem, value, pid(me));
    }
}

/// The thread that takes over the lock finds all of the change or nothing, and so does every thread that needs no lock.
fn next_receiver(world: &World, me: u32) {
    if world.acquire_or_take_over(me) == Taken::Clean {
        // This thread took the lock before the change.
        world.set.lock().release();
        return;
    }
    let (first, second) = (world.word(0), world.word(1));
    assert_eq!((first.value(), first.pid()), (second.value(), second.pid()), "half");
    // Relaxed: records are read under the lock.
    assert!(
        world
            .participants
            .iter()
            .all(|participant| participant.redo.state.load(Ordering::Relaxed) == state::IDLE)
    );
    world.section(me, |_| {});
}

fn look(world: &World, _: u32) {
    let first = world.word(0);
    let second = world.word(1);
    if !first.is_slow() && first.value() == 1 {
        assert_eq!(second.value(), 1, "half");
    }
}

macro_rules! dies {
    ($($name:ident: $until:expr => $value:expr;)*) => {$(
        #[test]
        fn $name() {
            fn die(world: &World, me: u32) {
                change(world, me, $until);
            }
            explore(2, || World::new(2, 3), &[look, die, next_receiver], |world| {
                if world.acquire_or_take_over(0) == Taken::OwnerDied {
                    // The other thread took the lock before the change.
                }
                world.section(0, |_| {});
                assert_eq!((world.word(0).value(), world.word(1).value()), ($value, $value));
                world.assert_at_rest();
            });
        }
    )*};
}

dies! {
    dead_before_it_was_written_down: Until::MarkedSlow => 0;
    dead_once_it_was_decided: Until::Prepared => 1;
    dead_half_way: Until::Half => 1;
    dead_with_the_record_standing: Until::Applied => 1;
}

#[test]
#[should_panic(expected = "half")]
fn planted_change_without_redo_record() {
    fn die(world: &World, me: u32) {
        world.acquire(me);
        SetSection::new(world.space(), me).mark_all_slow();
        write_until(world, me, Until::Half);
        world.kill(me);
    }
    explore(2, || World::new(2, 3), &[look, die, next_receiver], |_| {});
}

/// The dead holder was granting the waiter both of its operations (+1, +1, for a waiter that waited for something
/// else).
fn grant(world: &World, me: u32, until: Until) {
    world.acquire(me);
    let section = SetSection::new(world.space(), me);
    section.mark_all_slow();
    let writer = &world.participants[me as usize];
    redo::prepare(&world.space(), writer, (state::GRANT, 0), (pid(0), 0), changes());
    if !matches!(until, Until::Prepared) {
        world.participants[0].waiter.status.swap(status::GRANTED, Ordering::AcqRel);
    }
    write_until(world, 0, until);
    world.kill(me);
}

/// Participant 0 waits for values that only the dead holder's grant provides. It spins, because no thread wakes it.
fn world_with_queued_vector() -> World {
    let world = World::new(2, 3);
    assert_eq!(world.perform(0, &[op(0, -2), op(1, -2)]), None);
    world
}

fn poll(world: &World, me: u32) {
    if let Some(result) = world.try_end(me) {
        result.unwrap();
        // The waiter has seen the grant, so it has happened, for all threads.
        world.acquire_or_take_over(me);
        assert_eq!((world.word(0).value(), world.word(1).value()), (1, 1), "granted and not performed");
        world.section(me, |_| {});
    }
}

macro_rules! dies_granting {
    ($($name:ident: $until:expr => $value:expr;)*) => {$(
        #[test]
        fn $name() {
            fn die(world: &World, me: u32) {
                grant(world, me, $until);
            }
            explore(2, world_with_queued_vector, &[poll, die, next_receiver], |world| {
                world.acquire_or_take_over(0);
                world.section(0, |_| {});
                assert_eq!((world.word(0).value(), world.word(1).value()), ($value, $value));
                // Relaxed: all threads have been joined.
                let waits = status::is_waiting(world.participants[0].waiter.status.load(Ordering::Relaxed));
                assert_eq!(waits, $value == 0);
                assert_eq!(world.set.contended.waiters.load(Ordering::Relaxed), u32::from(waits));
            });
        }
    )*};
}

dies_granting! {
    a_grant_that_was_not_decided_has_not_happened: Until::Prepared => 0;
    a_grant_that_was_decided_has_happened: Until::Granted => 1;
    half_a_grant_is_finished: Until::Half => 1;
}

#[test]
#[should_panic(expected = "granted and not performed")]
fn planted_grant_decided_before_redo_record() {
    fn die(world: &World, me: u32) {
        world.acquire(me);
        SetSection::new(world.space(), me).mark_all_slow();
        world.participants[0].waiter.status.swap(status::GRANTED, Ordering::AcqRel);
        world.kill(me);
    }
    explore(2, world_with_queued_vector, &[poll, die, next_receiver], |_| {});
}

/// The dead holder made its post and served no waiter. The thread that takes over the lock serves the sleeper, and wakes
/// it once the lock is released.
fn explore_sleeper_of_dead_poster(release: fn(&World, u32)) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || {
        let world = World::new(1, 3);
        assert_eq!(world.perform(0, &[op(0, -1)]), None);
        world.acquire(1);
        SetSection::new(world.space(), 1).mark_slow(0);
        world.space().put(0, 1, pid(1));
        world.kill(1);
        let world = Arc::new(world);
        let recoverer = {
            let world = world.clone();
            loom::thread::spawn(move || {
                assert_eq!(world.acquire_or_take_over(2), Taken::OwnerDied);
                release(&world, 2);
            })
        };
        assert_eq!(world.wait(0), Ok(()));
        recoverer.join().unwrap();
    });
}

#[test]
fn sleeper_of_dead_poster_is_woken() {
    explore_sleeper_of_dead_poster(|world, me| {
        world.section(me, |_| {});
    });
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_release_after_repair_without_wake_up() {
    explore_sleeper_of_dead_poster(|world, _| world.set.lock().release());
}
