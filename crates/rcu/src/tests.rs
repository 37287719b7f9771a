//! What one process with a scripted operating system can show; the rest is in `tests/` and `models`.

use crate::registry::{Recovery, RegistryFull, SweepScope};
use crate::script::{ScriptedHost, arena, thread};
use crate::slot::State;
use crate::*;
use unspin_sys::process::{Identity, Liveness};

fn nothing(_: ParticipantId, _: &Identity) -> Recovery {
    panic!("nobody is dead")
}

fn done(_: ParticipantId, _: &Identity) -> Recovery {
    Recovery::Done
}

#[test]
fn section_delays_only_later_cookies() {
    let (domain, slots) = arena(4);
    let script = ScriptedHost::new();
    let rcu = Rcu::with_host(&domain, &slots, &script);
    let me = rcu.registry().register(&thread(1), FenceMode::Full, &mut nothing).unwrap();
    let slot = &slots[me.index()];

    let before = rcu.start_poll();
    // SAFETY: the slot was registered above, by this thread.
    let outer = unsafe { slot.enter(&domain, FenceMode::Full) };
    let within = rcu.start_poll();
    assert!(rcu.poll(before), "the section began after this cookie");
    assert!(!rcu.poll(within));

    // SAFETY: as above.
    let inner = unsafe { slot.enter(&domain, FenceMode::Full) };
    // SAFETY: the innermost section.
    unsafe { slot.leave(inner) };
    assert!(!rcu.poll(within), "the end of a nested section is not the end of the outer one");
    // SAFETY: the innermost section.
    unsafe { slot.leave(outer) };
    assert!(!rcu.is_over(within), "nobody has looked yet");
    assert!(rcu.poll(within) && rcu.is_over(within));
    rcu.synchronize().unwrap();
    assert!(rcu.counts().grace_periods >= 3 && rcu.counts().ticks_waited > 0);
}

#[test]
fn scan_completes_every_possible_cookie() {
    let (domain, slots) = arena(2);
    let script = ScriptedHost::new();
    let rcu = Rcu::with_host(&domain, &slots, &script);
    let cookies: Vec<_> = (0..5).map(|_| rcu.start_poll()).collect();
    assert!(rcu.poll(cookies[0]));
    assert!(cookies.iter().all(|&c| rcu.is_over(c)));
    assert!(!rcu.poll(Cookie::from_word(cookies[4].word() + 1)), "a number nobody drew is not over");
}

#[test]
fn dead_reader_is_marked_by_poll_and_freed_by_sweep() {
    let (domain, slots) = arena(2);
    let script = ScriptedHost::new();
    let rcu = Rcu::with_host(&domain, &slots, &script);
    let registry = rcu.registry();
    let victim = registry.register(&thread(1), FenceMode::Full, &mut nothing).unwrap();
    // SAFETY: the slot was registered above; this thread acts as its owner.
    let _ = unsafe { slots[victim.index()].enter(&domain, FenceMode::Full) };
    let cookie = rcu.start_poll();
    assert!(!rcu.poll(cookie) && !registry.may_have_dead());
    script.kill(1);
    assert!(rcu.poll(cookie), "the dead do not read");
    assert!(registry.may_have_dead());
    assert_eq!((registry.liveness(victim), registry.participant(victim.index())), (Liveness::Dead, None));
    assert_eq!(registry.identity(victim), Some(thread(1)));

    let mut seen = Vec::new();
    let keep = registry.sweep(&thread(2), SweepScope::MarkedDead, &mut |identity, id| {
        seen.push((identity, *id));
        Recovery::Incomplete
    });
    assert_eq!((keep, registry.may_have_dead()), (0, true));
    let freed = registry.sweep(&thread(2), SweepScope::MarkedDead, &mut |identity, id| {
        seen.push((identity, *id));
        Recovery::Done
    });
    assert_eq!((freed, registry.may_have_dead()), (1, false));
    assert_eq!(seen, [(victim, thread(1)); 2]);
    assert!(!slots[0].is_active());

    let successor = registry.register(&thread(3), FenceMode::Full, &mut nothing).unwrap();
    assert_eq!(successor.index(), victim.index());
    assert_ne!(successor, victim);
    assert_eq!((registry.liveness(victim), registry.liveness(successor)), (Liveness::Dead, Liveness::Alive));
}

#[test]
fn registration_in_a_full_registry_sweeps_or_fails() {
    let (domain, slots) = arena(2);
    let script = ScriptedHost::new();
    let registry = Rcu::with_host(&domain, &slots, &script).registry();
    let first = registry.register(&thread(1), FenceMode::Full, &mut nothing).unwrap();
    registry.register(&thread(2), FenceMode::Full, &mut nothing).unwrap();
    assert_eq!(registry.register(&thread(3), FenceMode::Full, &mut nothing), Err(RegistryFull));
    script.kill(1);
    let successor = registry.register(&thread(3), FenceMode::Full, &mut done).unwrap();
    assert_eq!(successor.index(), first.index());
    // SAFETY: registered above; this thread acts as its owner.
    unsafe { registry.unregister(successor) };
    let next = registry.register(&thread(4), FenceMode::Full, &mut nothing).unwrap();
    // SAFETY: deliberately wrong: unregistered twice, which must not affect the slot's next owner.
    unsafe { registry.unregister(successor) };
    assert_eq!(registry.participant(next.index()), Some(next));
}

#[test]
fn unfinished_claims_and_sweeps_of_dead_threads_are_taken_over() {
    let (domain, slots) = arena(3);
    let script = ScriptedHost::new();
    let registry = Rcu::with_host(&domain, &slots, &script).registry();
    registry.register(&thread(1), FenceMode::Full, &mut nothing).unwrap();
    registry.register(&thread(2), FenceMode::Full, &mut nothing).unwrap();
    registry.register(&thread(3), FenceMode::Full, &mut nothing).unwrap();
    // Thread 5 died while it swept thread 1; thread 6 died while it claimed the slot that thread 2 had returned.
    let live = |i: usize| State::Live(registry.participant(i).unwrap().generation(), FenceMode::Full);
    assert!(slots[0].change_state(live(0), State::Sweeping(PackedIdentity::of(&thread(5)))));
    assert!(slots[1].change_state(live(1), State::Claiming(PackedIdentity::of(&thread(6)))));
    let sweep = |extent| {
        let mut swept = Vec::new();
        let freed = registry.sweep(&thread(7), extent, &mut |identity, _| {
            swept.push(identity.index());
            Recovery::Done
        });
        (freed, swept)
    };
    assert_eq!(sweep(SweepScope::All), (0, vec![]), "5 and 6 are alive and at it");
    script.kill(5);
    script.kill(6);
    assert_eq!(sweep(SweepScope::MarkedDead), (2, vec![0]), "a claimer held nothing");
    assert_eq!((slots[0].state(), slots[1].state()), (State::Free, State::Free));
    assert_eq!(slots[2].state(), live(2));
}

#[test]
fn exec_marks_the_slot_of_the_old_image_dead() {
    /// A thread is alive if it has the image that it has now.
    #[derive(Clone, Copy)]
    struct Exec(u64);
    impl Host for Exec {
        fn liveness(&self, identity: &Identity) -> Liveness {
            if identity.image == self.0 { Liveness::Alive } else { Liveness::Dead }
        }
        fn claimer_liveness(&self, _: PackedIdentity) -> Liveness {
            Liveness::Alive
        }
        fn fence_readers(&self) -> host::FenceReach {
            host::FenceReach::Everywhere
        }
        fn ticks(&self) -> u64 {
            0
        }
        fn ticks_in(&self, ns: u64) -> u64 {
            ns
        }
        fn pause(&self, _: host::PauseKind) {}
    }
    let (domain, slots) = arena(2);
    let old = Identity { image: 4096, ..thread(1) };
    let new = Identity { image: 8192, ..thread(1) };
    let was =
        Rcu::with_host(&domain, &slots, Exec(4096)).registry().register(&old, FenceMode::Full, &mut nothing);
    let registry = Rcu::with_host(&domain, &slots, Exec(8192)).registry();
    let is = registry.register(&new, FenceMode::Full, &mut nothing).unwrap();
    assert_eq!(slots[was.unwrap().index()].state(), State::MarkedDead(1));
    assert_eq!(registry.liveness(is), Liveness::Alive);
    assert!(registry.may_have_dead());
}

#[test]
fn without_membarrier_only_fencing_readers_can_be_waited_for() {
    let (domain, slots) = arena(2);
    let script = ScriptedHost::without_membarrier();
    let rcu = Rcu::with_host(&domain, &slots, &script);
    rcu.registry().register(&thread(1), FenceMode::Full, &mut nothing).unwrap();
    rcu.synchronize().unwrap();
    let trusting = rcu.registry().register(&thread(2), FenceMode::Expedited, &mut nothing).unwrap();
    let cookie = rcu.start_poll();
    assert!(!rcu.poll(cookie));
    assert_eq!(rcu.synchronize(), Err(FenceRefused));
    // SAFETY: registered above; this thread acts as its owner.
    unsafe { rcu.registry().unregister(trusting) };
    assert!(rcu.poll(cookie));
}

#[test]
fn guards_nest_and_may_be_dropped_in_any_order() {
    let (domain, slots) = arena(2);
    let rcu = Rcu::new(&domain, &slots);
    let reader = rcu.join().unwrap();
    let (first, second) = (reader.read(), reader.read());
    let cookie = rcu.start_poll();
    drop(first);
    assert!(!rcu.poll(cookie));
    drop(second);
    assert!(rcu.poll(cookie));
    core::mem::forget(reader.read());
    let participant = reader.participant();
    drop(reader);
    assert!(!slots[participant.index()].is_active());
    assert_eq!(rcu.registry().participant(participant.index()), None);
}

mod deferral {
    use super::*;
    use crate::deferred::{DeferredFrees, LARGE, QueueFull};
    use crate::work::{FreeAttempt, PendingFree};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use unspin_sync::atomic::{AtomicU64, Ordering};

    fn cookie(n: u64) -> Cookie {
        Cookie::from_word(n)
    }

    /// A panic within `f` has the effect of a kill: nothing after it runs, and what is stored stays.
    fn killed_in(f: impl FnOnce()) {
        assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
    }

    #[test]
    fn entries_are_reaped_oldest_first_after_their_grace_period() {
        let ring = DeferredFrees::<4, 2>::default();
        // SAFETY: one thread, one result.
        let mut ring = unsafe { ring.exclusive() };
        let mut freed = Vec::new();
        for lap in 0..3 {
            for i in 0..4 {
                ring.call(lap * 10 + i, 1, cookie(i)).unwrap();
            }
            assert_eq!(ring.call(99, 1, cookie(9)), Err(QueueFull));
            assert_eq!(ring.reap(|c| c <= cookie(1), |g, a| freed.push((g.item, a))), 2);
            assert_eq!(ring.len(), 2);
            assert_eq!(ring.reap(|_| true, |g, a| freed.push((g.item, a))), 2);
        }
        let all: Vec<_> =
            (0..3).flat_map(|l| (0..4).map(move |i| (l * 10 + i, FreeAttempt::First))).collect();
        assert_eq!(freed, all);
        assert!(ring.is_empty() && ring.in_doubt().is_none());
    }

    #[test]
    fn sigkill_in_free_leaves_the_item_in_doubt() {
        let shared = DeferredFrees::<4, 2>::default();
        // SAFETY: one thread, one result.
        let mut ring = unsafe { shared.exclusive() };
        ring.call(1, 1, cookie(1)).unwrap();
        ring.call(2, 1, cookie(1)).unwrap();
        for _ in 0..2 {
            killed_in(|| {
                ring.reap(|_| true, |_, _| panic!("killed"));
            });
            assert_eq!(ring.in_doubt(), Some(PendingFree { item: 1, bytes: 1 }));
        }
        let mut freed = Vec::new();
        ring.reap(|_| true, |g, a| freed.push((g.item, a)));
        assert_eq!(freed, [(1, FreeAttempt::Retry), (2, FreeAttempt::First)]);
    }

    /// Any one word is overwritten, with any value.
    #[test]
    fn damaged_positions_bound_loops_by_the_ring_size() {
        let (domain, slots) = arena(2);
        let script = ScriptedHost::new();
        let registry = Rcu::with_host(&domain, &slots, &script).registry();
        let me = registry.register(&thread(1), FenceMode::Full, &mut nothing).unwrap();
        for word in 0..size_of::<DeferredFrees<4, 2>>() / 8 {
            for damage in [u64::MAX, u64::MAX >> 3, 1 << 40, 300, 0] {
                let shared = DeferredFrees::<4, 2>::default();
                // SAFETY: one thread, one result at a time.
                let mut ring = unsafe { shared.exclusive() };
                for item in 0..4 {
                    ring.call(item, LARGE + 1, cookie(1)).unwrap();
                }
                ring.reap(|_| true, |_, _| ());
                ring.call(7, 1, cookie(1)).unwrap();
                // SAFETY: the ring consists of atomic words only, and `word` is the index of one of them.
                unsafe { (&raw const shared).cast::<AtomicU64>().add(word).as_ref() }
                    .unwrap()
                    .store(damage, Ordering::Relaxed);
                assert!(
                    ring.len() <= 4 && ring.iter().count() <= 4 && shared.work_queue().iter().count() <= 2
                );
                assert!(ring.reap(|_| true, |_, _| ()) <= 4);
                let _ = ring.call(8, LARGE + 1, cookie(1));
                assert!((0..4).any(|_| !shared.work_queue().work(&registry, me, |_, _| ())));
            }
        }
    }

    #[test]
    fn large_frees_use_the_work_queue_and_overflow_is_freed_at_once() {
        let (domain, slots) = arena(2);
        let script = ScriptedHost::new();
        let registry = Rcu::with_host(&domain, &slots, &script).registry();
        let me = registry.register(&thread(1), FenceMode::Full, &mut nothing).unwrap();
        let shared = DeferredFrees::<4, 2>::default();
        // SAFETY: one thread, one result.
        let mut ring = unsafe { shared.exclusive() };
        for lap in 0..5 {
            for item in 0..4 {
                ring.call(lap * 10 + item, LARGE + item, cookie(1)).unwrap();
            }
            let mut inside = Vec::new();
            assert_eq!(ring.reap(|_| true, |g, _| inside.push(g.item - lap * 10)), 4);
            // Item 0 has exactly LARGE bytes, not more; items 1 and 2 fill the queue.
            assert_eq!(inside, [0, 3]);
            let mut outside = Vec::new();
            while shared.work_queue().work(&registry, me, |g, a| outside.push((g.item - lap * 10, a))) {}
            assert_eq!(outside, [(1, FreeAttempt::First), (2, FreeAttempt::First)]);
            assert!(shared.work_queue().is_empty());
        }
    }

    #[test]
    fn only_the_claim_of_a_dead_worker_is_taken_over() {
        let (domain, slots) = arena(2);
        let script = ScriptedHost::new();
        let registry = Rcu::with_host(&domain, &slots, &script).registry();
        let me = registry.register(&thread(1), FenceMode::Full, &mut nothing).unwrap();
        let victim = registry.register(&thread(2), FenceMode::Full, &mut nothing).unwrap();
        let shared = DeferredFrees::<4, 2>::default();
        // SAFETY: one thread, one result.
        let mut ring = unsafe { shared.exclusive() };
        ring.call(7, LARGE + 1, cookie(1)).unwrap();
        ring.reap(|_| true, |_, _| unreachable!());
        let queue = shared.work_queue();
        killed_in(|| {
            queue.work(&registry, victim, |_, _| panic!("killed"));
        });
        assert!(!queue.work(&registry, me, |_, _| panic!("it has an owner")));
        script.kill(2);
        let mut freed = None;
        assert!(queue.work(&registry, me, |g, a| freed = Some((g.item, a))));
        assert_eq!(freed, Some((7, FreeAttempt::Retry)));
        assert!(queue.is_empty() && !queue.work(&registry, me, |_, _| unreachable!()));
    }

    #[test]
    fn repeated_hand_over_after_a_death_happens_once() {
        let (domain, slots) = arena(1);
        let script = ScriptedHost::new();
        let registry = Rcu::with_host(&domain, &slots, &script).registry();
        let me = registry.register(&thread(1), FenceMode::Full, &mut nothing).unwrap();
        let shared = DeferredFrees::<4, 2>::default();
        let queue = shared.work_queue();
        let garbage = PendingFree { item: 1, bytes: LARGE + 1 };
        // SAFETY: one thread; a repeated push has the same ticket.
        assert!(unsafe { queue.push(1, garbage) && queue.push(1, garbage) });
        assert!(queue.work(&registry, me, |_, _| {}));
        // SAFETY: as above: the pusher was killed after the push, and repeats it when the thing is freed already.
        assert!(unsafe { queue.push(1, garbage) });
        assert!(queue.is_empty() && !queue.work(&registry, me, |_, _| unreachable!()));
    }
}
