//! Models: loom explores every interleaving and every reordering of the protocols. Run by `RUSTFLAGS="--cfg loom" cargo
//! test -p unspin-rcu --release --lib models`.
//!
//! Readers issue their own fences here ([`FenceMode::Full`]), because loom does not know `membarrier`. A dead thread is
//! one that stops after reporting its death to the [`ScriptedHost`]. Each property has a planted bug beside it that
//! must be found.

use crate::registry::{Recovery, SweepScope};
use crate::script::{ScriptedHost, arena, thread};
use crate::slot::State;
use crate::work::{FreeAttempt, PendingFree, WorkQueue};
use crate::*;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread::spawn;
use unspin_sync::atomic::{AtomicU64, Ordering, fence};
use unspin_sys::process::{Identity, Liveness};

/// A domain, an operating system, and one thing that readers can reach until a writer makes it unreachable.
struct World {
    domain: Domain,
    slots: Vec<Slot>,
    script: ScriptedHost,
    unreachable: AtomicU64,
    thing: UnsafeCell<u64>,
}

// SAFETY: only `thing` is not Sync. The models check that no two threads access it at once, and loom checks every
// access.
unsafe impl Sync for World {}
// SAFETY: nothing in it is bound to a thread.
unsafe impl Send for World {}

impl World {
    fn new(slots: usize) -> Arc<World> {
        let (domain, slots) = arena(slots);
        let (script, unreachable, thing) = (ScriptedHost::new(), AtomicU64::new(0), UnsafeCell::new(1));
        Arc::new(World { domain, slots, script, unreachable, thing })
    }

    fn rcu(&self) -> Rcu<'_, &ScriptedHost> {
        Rcu::with_host(&self.domain, &self.slots, &self.script)
    }

    fn join(&self, tid: u32) -> ParticipantId {
        self.rcu().registry().register(&thread(tid), FenceMode::Full, &mut |_, _| Recovery::Done).unwrap()
    }

    /// The one access of a reader.
    fn look(&self) {
        // Relaxed: the thing was made before any thread was.
        if self.unreachable.load(Ordering::Relaxed) == 0 {
            // SAFETY: loom checks that no thread writes meanwhile.
            self.thing.with(|it| assert_eq!(unsafe { *it }, 1, "read after free"));
        }
    }

    fn section(&self, me: ParticipantId) {
        let slot = &self.slots[me.index()];
        // SAFETY: `me` was registered for the calling thread, with these fences.
        unsafe {
            let section = slot.enter(&self.domain, FenceMode::Full);
            self.look();
            slot.leave(section);
        }
    }

    fn unlink(&self) {
        // Relaxed: the grace period provides the ordering.
        self.unreachable.store(1, Ordering::Relaxed);
    }

    fn free(&self) {
        // SAFETY: loom checks that no thread reads meanwhile.
        self.thing.with_mut(|it| unsafe { *it = 0 });
    }

    /// The correct writer.
    fn update(&self) {
        self.unlink();
        let cookie = self.rcu().start_poll();
        if self.rcu().poll(cookie) {
            self.free();
        }
    }
}

/// Runs `reader` in its own thread, with a slot, against `writer`.
fn against(reader: fn(&World, ParticipantId), writer: fn(&World)) {
    loom::model(move || {
        let world = World::new(1);
        let me = world.join(1);
        let shared = world.clone();
        let other = spawn(move || reader(&shared, me));
        writer(&world);
        other.join().unwrap();
    });
}

#[test]
fn reader_delays_the_free() {
    against(World::section, World::update);
}

#[test]
fn reader_that_reenters_delays_the_free() {
    against(
        |world, me| {
            world.section(me);
            world.section(me);
        },
        World::update,
    );
}

#[test]
fn synchronize_waits_for_readers_and_ends() {
    against(World::section, |world| {
        world.unlink();
        world.rcu().synchronize().unwrap();
        world.free();
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_reader_without_fence() {
    against(
        |world, me| {
            let slot = &world.slots[me.index()];
            // SAFETY: deliberately wrong: the slot was not registered with these fences.
            unsafe {
                let section = slot.enter(&world.domain, FenceMode::Expedited);
                world.look();
                slot.leave(section);
            }
        },
        World::update,
    );
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_section_left_before_its_reads() {
    against(
        |world, me| {
            let slot = &world.slots[me.index()];
            // SAFETY: deliberately wrong: the section ends before the access.
            unsafe {
                let section = slot.enter(&world.domain, FenceMode::Full);
                slot.leave(section);
            }
            world.look();
        },
        World::update,
    );
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_cookie_too_small() {
    against(World::section, |world| {
        world.unlink();
        let cookie = world.rcu().start_poll();
        if world.rcu().poll(Cookie::from_word(cookie.word() - 1)) {
            world.free();
        }
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_cookie_drawn_before_the_unlink() {
    against(World::section, |world| {
        let cookie = world.rcu().start_poll();
        world.unlink();
        if world.rcu().poll(cookie) {
            world.free();
        }
    });
}

/// Two writers share the result of one scan.
#[test]
fn scan_by_another_thread_completes_the_cookie() {
    model_with_preemptions(3, || {
        let world = World::new(1);
        let me = world.join(1);
        let (a, b) = (world.clone(), world.clone());
        let reader = spawn(move || a.section(me));
        let writer = spawn(move || {
            let cookie = b.rcu().start_poll();
            b.rcu().poll(cookie);
        });
        world.unlink();
        let cookie = world.rcu().start_poll();
        if world.rcu().is_over(cookie) {
            world.free();
        }
        writer.join().unwrap();
        reader.join().unwrap();
    });
}

#[test]
fn concurrently_registered_reader_is_scanned() {
    loom::model(|| {
        let world = World::new(1);
        let shared = world.clone();
        let reader = spawn(move || {
            let me = shared.join(1);
            shared.section(me);
        });
        world.update();
        reader.join().unwrap();
    });
}

/// A reader dies in its section. Its successor in the slot is a reader too, and the writer must wait for it.
#[test]
fn dead_reader_is_skipped_and_its_successor_is_not() {
    model_with_preemptions(3, || {
        let world = World::new(1);
        let victim = world.join(1);
        // SAFETY: registered above; this thread acts as its owner, which dies in the section.
        let _ = unsafe { world.slots[victim.index()].enter(&world.domain, FenceMode::Full) };
        world.script.kill(1);
        let shared = world.clone();
        let successor = spawn(move || {
            let me = shared.join(2);
            shared.section(me);
        });
        world.update();
        successor.join().unwrap();
    });
}

/// [`loom::model`] with at most `preemptions` involuntary switches.
fn model_with_preemptions(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// Sweeps as thread `tid` and returns the participants that `on_dead` was called for.
fn sweep(world: &World, tid: u32) -> Vec<(ParticipantId, Identity)> {
    let mut swept = Vec::new();
    world.rcu().registry().sweep(&thread(tid), SweepScope::All, &mut |identity, id| {
        swept.push((identity, *id));
        Recovery::Done
    });
    swept
}

#[test]
fn dead_slot_is_swept_once() {
    model_with_preemptions(3, || {
        let world = World::new(1);
        let victim = world.join(1);
        world.script.kill(1);
        let shared = world.clone();
        let other = spawn(move || sweep(&shared, 2));
        let mut swept = sweep(&world, 3);
        swept.extend(other.join().unwrap());
        assert_eq!(swept, [(victim, thread(1))]);
        assert_eq!(world.slots[0].state(), State::Free);
    });
}

#[test]
fn concurrent_registrations_get_different_slots() {
    model_with_preemptions(3, || {
        let world = World::new(2);
        let shared = world.clone();
        let other = spawn(move || shared.join(1));
        let mine = world.join(2);
        let theirs = other.join().unwrap();
        assert_ne!(mine.index(), theirs.index());
        let registry = world.rcu().registry();
        assert_eq!((registry.identity(mine), registry.identity(theirs)), (Some(thread(2)), Some(thread(1))));
    });
}

/// A thread reads the identity in a slot while the slot goes to another thread: it gets the former owner's, or none.
#[test]
fn identity_is_one_owners() {
    model_with_preemptions(3, || {
        let world = World::new(1);
        let victim = world.join(1);
        world.script.kill(1);
        let shared = world.clone();
        let reader = spawn(move || shared.rcu().registry().identity(victim));
        let _ = world.rcu().registry().register(&thread(2), FenceMode::Full, &mut |_, _| Recovery::Done);
        let seen = reader.join().unwrap();
        assert!(seen.is_none() || seen == Some(thread(1)), "{seen:?} is no owner's identity");
    });
}

/// Planted bug: the reader does not ask afterwards whether the slot still has the state that it had.
#[test]
#[should_panic(expected = "is no owner's identity")]
fn planted_identity_without_second_look_is_detected() {
    model_with_preemptions(3, || {
        let world = World::new(1);
        let victim = world.join(1);
        world.script.kill(1);
        let shared = world.clone();
        let reader = spawn(move || {
            let slot = &shared.slots[0];
            let lives = slot.state() == State::Live(victim.generation(), FenceMode::Full);
            let seen = lives.then(|| slot.stored_identity());
            assert!(seen.is_none() || seen == Some(thread(1)), "{seen:?} is no owner's identity");
        });
        let _ = world.rcu().registry().register(&thread(2), FenceMode::Full, &mut |_, _| Recovery::Done);
        reader.join().unwrap();
    });
}

/// A thread takes long to find a dead owner dead; meanwhile the slot goes to a living thread.
#[test]
fn late_liveness_check_spares_the_next_owner() {
    model_with_preemptions(3, || {
        next_owner_after_a_slow_check(|world, victim| {
            world.rcu().registry().liveness(victim);
        })
    });
}

#[test]
#[should_panic(expected = "the successor lost its slot")]
fn planted_mark_dead_without_state_check() {
    model_with_preemptions(3, || {
        next_owner_after_a_slow_check(|world, victim| {
            let slot = &world.slots[victim.index()];
            let state = slot.state();
            let liveness = slot.identity(state).map(|identity| (&world.script).liveness(&identity));
            if liveness == Some(Liveness::Dead) {
                // Planted bug: a store instead of a compare-and-swap.
                let word = victim.generation() << 3 | 4;
                slot.state.store(word, Ordering::Release);
            }
        })
    });
}

fn next_owner_after_a_slow_check(verdict: fn(&World, ParticipantId)) {
    let world = World::new(1);
    let victim = world.join(1);
    world.script.kill(1);
    let shared = world.clone();
    let slow = spawn(move || verdict(&shared, victim));
    let successor = {
        let registry = world.rcu().registry();
        registry.register(&thread(2), FenceMode::Full, &mut |_, _| Recovery::Done)
    };
    slow.join().unwrap();
    if let Ok(successor) = successor {
        assert_eq!(world.rcu().registry().participant(0), Some(successor), "the successor lost its slot");
        assert_eq!(world.rcu().registry().identity(successor), Some(thread(2)));
    }
}

/// A claimer dies at any point before its slot is live, while another thread registers.
#[test]
fn sigkill_while_claiming_leaves_the_slot_free() {
    model_with_preemptions(3, || {
        let world = World::new(1);
        let shared = world.clone();
        let victim = spawn(move || {
            let mine = State::Claiming(PackedIdentity::of(&thread(1)));
            if shared.rcu().registry().take(0, &shared.slots[0], mine) {
                shared.slots[0].write_identity(0, &thread(1));
            }
            shared.script.kill(1);
        });
        let early = world.rcu().registry().register(&thread(2), FenceMode::Full, &mut |_, _| Recovery::Done);
        victim.join().unwrap();
        let successor = early.unwrap_or_else(|_| world.join(2));
        assert_eq!(world.rcu().registry().identity(successor), Some(thread(2)));
    });
}

/// A work queue, its workers, and how often each thing was freed.
struct Works {
    world: Arc<World>,
    queue: WorkQueue<2>,
    freed: [UnsafeCell<u64>; 3],
}

// SAFETY: only `freed` is not Sync, and loom checks every access.
unsafe impl Sync for Works {}
// SAFETY: nothing in it is bound to a thread.
unsafe impl Send for Works {}

impl Works {
    fn new() -> Arc<Works> {
        let world = World::new(2);
        Arc::new(Works {
            world,
            queue: WorkQueue::default(),
            freed: core::array::from_fn(|_| UnsafeCell::new(0)),
        })
    }

    fn push(&self, item: u64) -> bool {
        // SAFETY: the models push from one thread, each item once.
        unsafe { self.queue.push(item + 1, PendingFree { item, bytes: u64::MAX }) }
    }

    fn work(&self, me: ParticipantId) -> Option<(u64, FreeAttempt)> {
        let mut done = None;
        self.queue.work(&self.world.rcu().registry(), me, |garbage, attempt| {
            // SAFETY: loom checks that no other thread frees the same thing at the same time.
            self.freed[garbage.item as usize].with_mut(|count| unsafe { *count += 1 });
            done = Some((garbage.item, attempt));
        });
        done
    }

    fn times_freed(&self, item: usize) -> u64 {
        // SAFETY: every thread has been joined.
        self.freed[item].with(|count| unsafe { *count })
    }
}

#[test]
fn large_frees_run_once_beside_pushes() {
    model_with_preemptions(3, || {
        let works = Works::new();
        let (one, two) = (works.world.join(1), works.world.join(2));
        assert!(works.push(0));
        let shared = works.clone();
        let other = spawn(move || {
            shared.work(one);
            shared.work(one);
        });
        let pushed = [works.push(1), works.push(2)];
        works.work(two);
        other.join().unwrap();
        while works.work(two).is_some() {}
        assert_eq!(works.times_freed(0), 1);
        assert_eq!(works.times_freed(1), u64::from(pushed[0]));
        assert_eq!(works.times_freed(2), u64::from(pushed[1]));
        assert!(works.queue.is_empty());
    });
}

#[test]
fn claim_of_a_dead_worker_is_taken_by_one_worker() {
    model_with_preemptions(3, || {
        let works = Works::new();
        let (one, two) = (works.world.join(1), works.world.join(2));
        assert!(works.push(0));
        // Dies when it has claimed the thing: the closure unwinds out of `work`, which leaves the claim as a kill
        // would.
        let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            works
                .queue
                .work(&works.world.rcu().registry(), one, |_, _| std::panic::resume_unwind(Box::new(())));
        }));
        assert!(killed.is_err());
        works.world.script.kill(1);
        let shared = works.clone();
        let other = spawn(move || {
            let me = shared.world.join(3);
            shared.work(me)
        });
        let mine = works.work(two);
        let theirs = other.join().unwrap();
        assert_eq!(mine.or(theirs), Some((0, FreeAttempt::Retry)));
        assert!(mine.is_none() || theirs.is_none());
        assert_eq!(works.times_freed(0), 1);
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_worker_without_claim() {
    model_with_preemptions(3, || {
        let works = Works::new();
        let two = works.world.join(2);
        assert!(works.push(0));
        let shared = works.clone();
        let other = spawn(move || {
            if !shared.queue.is_empty() {
                // SAFETY: deliberately wrong, and loom detects it.
                shared.freed[0].with_mut(|count| unsafe { *count += 1 });
            }
        });
        works.work(two);
        other.join().unwrap();
        assert_eq!(works.times_freed(0), 1);
    });
}

/// The store-buffer litmus test alone, as a check of the checker: loom must implement fences.
#[test]
fn fence_pair_prevents_that_both_miss() {
    loom::model(|| {
        let words = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
        let shared = words.clone();
        let other = spawn(move || {
            // Relaxed: the fences provide the ordering.
            shared.0.store(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            shared.1.load(Ordering::Relaxed)
        });
        // Relaxed: as above.
        words.1.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let here = words.0.load(Ordering::Relaxed);
        assert!(here + other.join().unwrap() > 0);
    });
}
