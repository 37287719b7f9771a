//! Deaths in every role, by every cause.

use crate::support::{Arena, Child, Dice, SLOTS, die, done, hang};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;
use unspin_rcu::deferred::{DeferredFrees, LARGE};
use unspin_rcu::registry::{Recovery, SweepScope};
use unspin_rcu::work::FreeAttempt;
use unspin_rcu::{FenceMode, ParticipantId};
use unspin_sync::atomic::{AtomicU64, Ordering};
use unspin_sys::process::{Identity, Liveness};

fn plain_arena() -> &'static Arena<()> {
    // SAFETY: `()` is valid when zeroed.
    unsafe { Arena::new() }
}

/// A child that stays in a section.
fn reader_in_section(arena: &'static Arena<()>) -> Child {
    let child = Child::run(|| {
        let reader = arena.rcu().join().unwrap();
        let _section = reader.read();
        arena.reach(1);
        hang()
    });
    arena.await_stage(1);
    child
}

#[test]
fn grace_period_waits_for_a_reader_process_until_it_dies() {
    let arena = plain_arena();
    let child = reader_in_section(arena);
    let cookie = arena.rcu().start_poll();
    for _ in 0..50 {
        assert!(!arena.rcu().poll(cookie), "a living reader was passed over");
        std::thread::sleep(Duration::from_millis(1));
    }
    let waiter = std::thread::spawn(|| arena.rcu().synchronize().unwrap());
    std::thread::sleep(Duration::from_millis(20));
    assert!(!waiter.is_finished());
    child.kill(); // and not reaped: it is a zombie
    waiter.join().unwrap();
    assert!(arena.rcu().poll(cookie));
    drop(child);
    assert_eq!(arena.rcu().registry().sweep(&Identity::current(), SweepScope::MarkedDead, &mut done), 1);
}

#[test]
fn reader_without_proc_entry_is_dead() {
    let arena = plain_arena();
    drop(reader_in_section(arena));
    arena.rcu().synchronize().unwrap();
}

#[test]
fn reader_is_dead_after_exec() {
    let arena = plain_arena();
    let child = Child::run(|| {
        let reader = arena.rcu().join().unwrap();
        let _section = reader.read();
        arena.reach(1);
        let error = Command::new("sleep").arg("1000").exec();
        panic!("{error}");
    });
    arena.await_stage(1);
    arena.rcu().synchronize().unwrap();
    child.kill();
}

#[test]
fn reader_is_dead_after_thread_exit() {
    let arena = plain_arena();
    let participant = std::thread::spawn(|| {
        let reader = arena.rcu().join().unwrap();
        let participant = reader.participant();
        std::mem::forget(reader.read());
        std::mem::forget(reader);
        participant
    })
    .join()
    .unwrap();
    arena.rcu().synchronize().unwrap();
    assert_eq!(arena.rcu().registry().liveness(participant), Liveness::Dead);
}

#[test]
fn reused_tid_with_another_start_time_is_not_the_reader() {
    let arena = plain_arena();
    let me = Identity::current();
    let before = Identity { start_time: me.start_time - 1, ..me };
    let registry = arena.rcu().registry();
    let participant = registry.register(&before, FenceMode::Full, &mut done).unwrap();
    // SAFETY: deliberately wrong in one point: the identity is that of an earlier thread with the same ids, so no other
    // thread uses the slot.
    let _ = unsafe { arena.slots[participant.index()].enter(&arena.domain, FenceMode::Full) };
    arena.rcu().synchronize().unwrap();
    assert_eq!(registry.identity(participant), Some(before));
    assert_eq!(registry.sweep(&me, SweepScope::MarkedDead, &mut done), 1);
}

#[test]
fn forked_child_does_not_use_its_parents_slot() {
    let arena = plain_arena();
    let reader = arena.rcu().join().unwrap();
    let section = reader.read();
    let child = Child::run(|| {
        // SAFETY: the child has copies of guard and reader, drops each once, and exits.
        drop(unsafe { std::ptr::read(&section) });
        assert!(arena.slots[reader.participant().index()].is_active(), "ended its parent's section");
        let inherited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(reader.read())));
        assert!(inherited.is_err(), "entered a section on its parent's slot");
        let own = arena.rcu().join().unwrap();
        assert_ne!(own.participant().index(), reader.participant().index());
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(reader.read()))).is_err());
        drop(own.read());
        // SAFETY: as above.
        drop(unsafe { std::ptr::read(&reader) });
        assert!(arena.rcu().registry().participant(reader.participant().index()).is_some());
        assert_eq!(arena.slots.iter().filter(|slot| slot.is_active()).count(), 1);
    });
    child.join();
}

#[test]
fn only_the_sweep_of_a_killed_sweeper_is_taken_over() {
    let arena = plain_arena();
    drop(reader_in_section(arena));
    let sweeper = Child::run(|| {
        arena.rcu().registry().sweep(&Identity::current(), SweepScope::All, &mut |_, _| {
            arena.reach(2);
            hang()
        });
    });
    arena.await_stage(2);
    let mut seen = Vec::new();
    let mut sweep = |extent| {
        arena.rcu().registry().sweep(&Identity::current(), extent, &mut |who, _| {
            seen.push(who);
            Recovery::Done
        })
    };
    assert_eq!(sweep(SweepScope::All), 0, "it is being swept");
    arena.rcu().synchronize().unwrap();
    sweeper.kill();
    assert_eq!(sweep(SweepScope::MarkedDead), 1);
    assert_eq!(seen.len(), 1);
    assert!(!arena.rcu().registry().may_have_dead());
}

/// The owner of every slot, as each owner recorded itself.
type Owners = [AtomicU64; SLOTS];

/// Threads that register and unregister for ever, until they are killed at any instruction.
#[test]
fn sigkill_storm_while_registering_leaks_and_shares_no_slot() {
    // SAFETY: atomics are valid when zeroed.
    let arena = unsafe { Arena::<Owners>::new() };
    fn release(arena: &Arena<Owners>) -> impl FnMut(ParticipantId, &Identity) -> Recovery {
        |who, _| {
            arena.rest[who.index()].store(0, Ordering::SeqCst);
            Recovery::Done
        }
    }
    fn storm(arena: &'static Arena<Owners>) {
        let (me, registry) = (Identity::current(), arena.rcu().registry());
        loop {
            let Ok(mine) = registry.register(&me, FenceMode::Full, &mut release(arena)) else { continue };
            let owner = &arena.rest[mine.index()];
            let was = owner.compare_exchange(0, u64::from(me.pid), Ordering::SeqCst, Ordering::SeqCst);
            if was.is_err() {
                arena.reach(1);
            }
            owner.store(0, Ordering::SeqCst);
            // SAFETY: registered above by this thread, which is in no section.
            unsafe { registry.unregister(mine) };
            arena.stage.load(Ordering::SeqCst);
        }
    }
    let mut dice = Dice::new();
    for _ in 0..30 {
        let children: Vec<_> = (0..4).map(|_| Child::run(|| storm(arena))).collect();
        std::thread::sleep(Duration::from_micros(500 + dice.below(4000)));
        drop(children);
    }
    assert_eq!(arena.stage.load(Ordering::SeqCst), 0, "two threads had one slot");
    let me = Identity::current();
    arena.rcu().registry().sweep(&me, SweepScope::All, &mut release(arena));
    for _ in 0..SLOTS {
        arena.rcu().registry().register(&me, FenceMode::Full, &mut |_, _| unreachable!()).unwrap();
    }
}

#[test]
fn thousands_of_threads_register_and_unregister() {
    let arena = plain_arena();
    let children: Vec<_> = (0..3)
        .map(|_| {
            Child::run(|| {
                for _ in 0..300 {
                    let threads: Vec<_> = (0..3)
                        .map(|_| std::thread::spawn(|| drop(arena.rcu().join().unwrap().read())))
                        .collect();
                    threads.into_iter().for_each(|thread| thread.join().unwrap());
                }
            })
        })
        .collect();
    children.into_iter().for_each(Child::join);
    assert!((0..SLOTS).all(|index| arena.rcu().registry().participant(index).is_none()));
}

#[test]
fn sigkill_of_reaper_leaves_doubt_and_of_worker_is_taken_over() {
    // SAFETY: a deferred queue is valid when zeroed.
    let arena = unsafe { Arena::<DeferredFrees<8, 4>>::new() };
    let queue = &arena.rest;
    // SAFETY: this test is the only user, and its children run one after another.
    let exclusive = || unsafe { queue.exclusive() };
    let cookie = arena.rcu().start_poll();
    exclusive().call(1, 8, cookie).unwrap();
    exclusive().call(2, LARGE + 1, cookie).unwrap();
    arena.rcu().synchronize().unwrap();
    let over = |cookie| arena.rcu().is_over(cookie);

    Child::run(|| {
        exclusive().reap(over, |_, _| die());
    })
    .settled();
    assert_eq!(exclusive().in_doubt().map(|garbage| garbage.item), Some(1));
    let mut freed = Vec::new();
    exclusive().reap(over, |garbage, attempt| freed.push((garbage.item, attempt)));
    assert_eq!(freed, [(1, FreeAttempt::Retry)]);

    let worker = Child::run(|| {
        let reader = arena.rcu().join().unwrap();
        queue.work_queue().work(&arena.rcu().registry(), reader.participant(), |_, _| die());
    });
    worker.settled();
    let reader = arena.rcu().join().unwrap();
    let mut freed = Vec::new();
    while queue.work_queue().work(&arena.rcu().registry(), reader.participant(), |garbage, attempt| {
        freed.push((garbage.item, attempt));
    }) {}
    assert_eq!(freed, [(2, FreeAttempt::Retry)]);
    assert!(queue.work_queue().is_empty());
}
