//! The oracle of every reclamation scheme: nothing is freed while a reader may hold it, and everything is freed once.
//! Readers and workers are processes that are killed at random; freed objects are poisoned and reused.

use crate::support::{Arena, Child, Dice, done};
use std::time::Duration;
use unspin_rcu::deferred::{DeferredFrees, LARGE};
use unspin_rcu::work::{FreeAttempt, PendingFree};
use unspin_rcu::{FenceMode, ParticipantId, Rcu};
use unspin_sync::atomic::{AtomicU64, Ordering};
use unspin_sys::membarrier;
use unspin_sys::process::Identity;

const OBJECTS: usize = 256;
const ROOTS: usize = 4;
const WORDS: usize = 6;
const POISON: u64 = 0xdead_dead_dead_dead;

/// An object that is found through a root, read, and replaced by another.
#[repr(C)]
struct Object {
    /// 0: free. Otherwise the stamp of its present user; odd: retired.
    state: AtomicU64,
    /// All words are the stamp while the object is in use, and poison while it is free.
    words: [AtomicU64; WORDS],
}

#[repr(C)]
struct Heap {
    roots: [AtomicU64; ROOTS],
    objects: [Object; OBJECTS],
    deferred: DeferredFrees<64, 16>,
    reads: AtomicU64,
    freed_by_workers: AtomicU64,
    freed_twice: AtomicU64,
    read_after_free: AtomicU64,
}

fn heap() -> &'static Arena<Heap> {
    // SAFETY: numbers and atomics are valid when zeroed.
    unsafe { Arena::new() }
}

impl Heap {
    /// Reads one object for a while; the caller is in a section.
    fn look(&self, dice: &mut Dice) {
        let root = self.roots[dice.below(ROOTS as u64) as usize].load(Ordering::Acquire);
        let words = &self.objects[root as usize].words;
        let stamp = words[0].load(Ordering::Relaxed);
        for _ in 0..dice.below(40) {
            std::hint::spin_loop();
            if words.iter().any(|word| word.load(Ordering::Relaxed) != stamp) || stamp == POISON {
                self.read_after_free.fetch_add(1, Ordering::SeqCst);
            }
        }
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Item numbers contain stamp and index, so that a free repeated after a death cannot hit the next user.
    fn free(&self, garbage: PendingFree, attempt: FreeAttempt) {
        let (stamp, index) = (garbage.item >> 16, garbage.item as usize & 0xffff);
        let object = &self.objects[index];
        if object.state.load(Ordering::SeqCst) != stamp | 1 {
            if attempt == FreeAttempt::First {
                self.freed_twice.fetch_add(1, Ordering::SeqCst);
            }
            return;
        }
        object.words.iter().for_each(|word| word.store(POISON, Ordering::Relaxed));
        object.state.store(0, Ordering::SeqCst);
    }

    fn allocate(&self, stamp: u64) -> Option<usize> {
        let index = self.objects.iter().position(|object| object.state.load(Ordering::SeqCst) == 0)?;
        self.objects[index].state.store(stamp, Ordering::SeqCst);
        self.objects[index].words.iter().for_each(|word| word.store(stamp, Ordering::Relaxed));
        Some(index)
    }
}

/// A process that reads for ever, with either kind of fence.
fn reader(arena: &'static Arena<Heap>, fences: FenceMode) -> Child {
    Child::run(move || {
        let mut dice = Dice::new();
        if fences == FenceMode::Expedited {
            assert!(membarrier::register_global_expedited());
        }
        let me = register(arena.rcu(), fences);
        let slot = &arena.slots[me.index()];
        loop {
            // SAFETY: registered above for this thread and with these fences; the words are not used outside the
            // section.
            unsafe {
                let section = slot.enter(&arena.domain, fences);
                arena.rest.look(&mut dice);
                slot.leave(section);
            }
        }
    })
}

/// A process that performs the large frees.
fn worker(arena: &'static Arena<Heap>) -> Child {
    Child::run(move || {
        let me = register(arena.rcu(), FenceMode::Full);
        let registry = arena.rcu().registry();
        loop {
            let worked = arena.rest.deferred.work_queue().work(&registry, me, |garbage, attempt| {
                arena.rest.free(garbage, attempt);
                arena.rest.freed_by_workers.fetch_add(1, Ordering::SeqCst);
            });
            if !worked {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
    })
}

fn register(rcu: Rcu<'_>, fences: FenceMode) -> ParticipantId {
    rcu.registry().register(&Identity::current(), fences, &mut done).unwrap()
}

#[test]
fn object_is_not_freed_while_a_reader_holds_it() {
    const UPDATES: u64 = 20_000;
    let arena = heap();
    let heap = &arena.rest;
    let mut dice = Dice::new();
    for (n, root) in heap.roots.iter().enumerate() {
        root.store(heap.allocate(2 * n as u64 + 2).unwrap() as u64, Ordering::SeqCst);
    }
    let kinds = [FenceMode::Expedited, FenceMode::Expedited, FenceMode::Full];
    let mut readers = kinds.map(|kind| reader(arena, kind));
    let mut workers = [worker(arena), worker(arena)];
    // SAFETY: this thread is the only user.
    let mut deferred = unsafe { heap.deferred.exclusive() };
    let (mut poll, free) = (|c| arena.rcu().poll(c), |g, a| heap.free(g, a));
    let mut retired = 0;
    while retired < UPDATES {
        let stamp = 2 * (retired + ROOTS as u64) + 2;
        let Some(new) = heap.allocate(stamp) else {
            deferred.reap(&mut poll, free);
            // On a busy machine a reader may be in its section for long.
            std::thread::yield_now();
            continue;
        };
        let root = &heap.roots[dice.below(ROOTS as u64) as usize];
        let old = root.swap(new as u64, Ordering::SeqCst);
        let was = heap.objects[old as usize].state.fetch_or(1, Ordering::SeqCst);
        let bytes = if dice.below(4) == 0 { LARGE + 1 } else { 8 };
        while deferred.call(was << 16 | old, bytes, arena.rcu().start_poll()).is_err() {
            deferred.reap(&mut poll, free);
        }
        retired += 1;
        if dice.below(32) == 0 {
            deferred.reap(&mut poll, free);
        }
        if dice.below(400) == 0 {
            let victim = dice.below(3) as usize;
            readers[victim] = reader(arena, kinds[victim]);
            workers[victim % 2] = worker(arena);
        }
    }
    arena.rcu().synchronize().unwrap();
    deferred.reap(&mut poll, free);
    // They run until they are killed, but a busy machine may not have let them yet.
    let count = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
    while count(&heap.reads) == 0 || count(&heap.freed_by_workers) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop((readers, workers));
    let me = register(arena.rcu(), FenceMode::Full);
    while heap.deferred.work_queue().work(&arena.rcu().registry(), me, free) {}

    assert_eq!(count(&heap.read_after_free), 0, "read after free");
    assert_eq!(count(&heap.freed_twice), 0, "freed twice");
    assert!(heap.deferred.work_queue().is_empty() && deferred.is_empty());
    assert_eq!(heap.objects.iter().filter(|object| count(&object.state) != 0).count(), ROOTS, "lost");
}

/// Check of the oracle: the same heap, freed without a grace period, must fail.
#[test]
fn planted_missing_grace_period_is_detected() {
    let arena = heap();
    let heap = &arena.rest;
    for (n, root) in heap.roots.iter().enumerate() {
        root.store(heap.allocate(2 * n as u64 + 2).unwrap() as u64, Ordering::SeqCst);
    }
    let _readers = [reader(arena, FenceMode::Full), reader(arena, FenceMode::Full)];
    let mut n = ROOTS as u64;
    while heap.read_after_free.load(Ordering::SeqCst) == 0 {
        let stamp = 2 * n + 2;
        let root = &heap.roots[n as usize % ROOTS];
        n += 1;
        let old = root.swap(heap.allocate(stamp).unwrap() as u64, Ordering::SeqCst);
        let was = heap.objects[old as usize].state.fetch_or(1, Ordering::SeqCst);
        heap.free(PendingFree { item: was << 16 | old, bytes: 8 }, FreeAttempt::First);
    }
}
