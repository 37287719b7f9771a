//! A condition of libc with waiters whose mutex is ours, under loom. A thread that is not woken sleeps for ever, which the
//! checker reports. The planted bugs are threads that leave out or exchange steps.

use crate::condition::models::wait;
use crate::handover::stand_in::{self, StandIn, WaitsWith, lock_to_wait, settle};
use crate::{Condition, HandOver, RawLock, Steal};
use loom::thread;
// Not loom's `Arc`, which panics a second time when it is dropped during the panic that reports a deadlock.
use std::sync::Arc;
use unspin_sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A mutex of libc, modelled by a lock that its own models check.
struct Mutex(Steal);

impl StandIn for Mutex {
    fn lock(&self) {
        self.0.lock(&mut Default::default());
    }

    fn unlock(&self) {
        // SAFETY: the trait's promise.
        unsafe { self.0.unlock() };
    }
}

/// A mutex, the condition with which it is used, and what the waiter waits for. Which of its two locks the mutex has is
/// the matter of another model.
struct World {
    mutex: Mutex,
    stand_in: Mutex,
    /// libc's, modelled by one that its own models check.
    condition: Condition,
    hand_over: HandOver,
    /// Protected by the mutex.
    is_ready: AtomicBool,
}

/// A planted mistake of the waiter.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    /// The waiter looks for the hand-over before it has the stand-in.
    LooksTooEarly,
}

impl World {
    /// The hook of a wait.
    fn wait_until_ready(&self, mistake: Mistake) {
        self.mutex.lock();
        // Relaxed: protected by the mutex.
        while !self.is_ready.load(Relaxed) {
            let with = match mistake {
                Mistake::LooksTooEarly if !self.hand_over.has_begun() => {
                    self.stand_in.lock();
                    WaitsWith::StandIn
                }
                _ => lock_to_wait(&self.stand_in, &self.hand_over),
            };
            match with {
                WaitsWith::Itself => {
                    wait(&self.condition, || self.mutex.unlock(), || self.mutex.lock());
                }
                WaitsWith::StandIn => {
                    self.mutex.unlock();
                    wait(&self.condition, || self.stand_in.unlock(), || self.stand_in.lock());
                    self.stand_in.unlock();
                    self.mutex.lock();
                }
            }
        }
        self.mutex.unlock();
    }

    fn make_ready(&self) {
        self.mutex.lock();
        // Relaxed: protected by the mutex.
        self.is_ready.store(true, Relaxed);
        self.mutex.unlock();
    }
}

/// The waiter is the model's own thread.
fn explore(waiter: Mistake, others: &'static [fn(&World)]) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || {
        let world = Arc::new(World {
            mutex: Mutex(Steal::new()),
            stand_in: Mutex(Steal::new()),
            condition: Condition::default(),
            hand_over: HandOver::default(),
            is_ready: AtomicBool::new(false),
        });
        let spawn = |act: &fn(&World)| {
            let (world, act) = (world.clone(), *act);
            thread::spawn(move || act(&world))
        };
        let others: Vec<_> = others.iter().map(spawn).collect();
        world.wait_until_ready(waiter);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// Lets code in that calls libc directly.
fn give_up(world: &World) {
    world.hand_over.begin();
    settle([&world.stand_in]);
}

fn signal_by_the_hook(world: &World) {
    world.make_ready();
    stand_in::signal(&world.stand_in, || world.condition.signal());
}

fn signal_in_libc(world: &World) {
    world.make_ready();
    world.condition.signal();
}

#[test]
fn signal_of_the_hook_reaches_the_waiter_whenever_the_hand_over_begins() {
    explore(Mistake::None, &[give_up, signal_by_the_hook]);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_hook_that_signals_without_the_stand_in() {
    explore(Mistake::None, &[give_up, signal_in_libc]);
}

#[test]
fn signal_of_code_that_was_let_in_reaches_the_waiter() {
    explore(
        Mistake::None,
        &[|world| {
            give_up(world);
            signal_in_libc(world);
        }],
    );
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_waiter_that_looks_before_it_has_the_stand_in() {
    explore(
        Mistake::LooksTooEarly,
        &[|world| {
            give_up(world);
            signal_in_libc(world);
        }],
    );
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_code_let_in_before_the_waiters_have_settled() {
    explore(
        Mistake::None,
        &[|world| {
            world.hand_over.begin();
            signal_in_libc(world);
        }],
    );
}
