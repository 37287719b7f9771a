//! Every lock in every interleaving of a few threads. Checked: one owner at a time, its writes are seen by the next
//! owner, no thread sleeps for ever, and a waiter that times out does not block others. Beside each property stands a
//! planted bug.
//!
//! A lock of the table takes part by how its waiters wait: `model_kind` says how.

use crate::host::model::STEP;
use crate::waiting::{SpinEnd, SpinPolicy, SpinStep};
use crate::{RawLock, Steal, Stealing, Until};
use core::ptr::NonNull;
use core::time::Duration;
use loom::cell::UnsafeCell;
use unspin_sync::hint;
use unspin_sync::machine::Ordering::Relaxed;

/// A lock and the data that it protects.
struct World<L> {
    lock: L,
    count: UnsafeCell<u32>,
}

// SAFETY: the count is used under the lock; the models check that the locks exclude.
unsafe impl<L: Sync> Sync for World<L> {}

impl<L: RawLock> World<L> {
    fn new() -> World<L> {
        World { lock: L::new(), count: UnsafeCell::new(0) }
    }

    fn lock(&self) {
        self.lock.lock(&mut L::Node::default());
    }

    fn unlock(&self) {
        // SAFETY: the caller holds the lock, or is a planted bug.
        unsafe { self.lock.unlock() };
    }

    /// Adds one. Loom reports two threads at a time as a causality violation.
    fn write(&self) {
        // SAFETY: the model checks that the access is exclusive.
        self.count.with_mut(|count| unsafe { *count += 1 });
    }

    fn read(&self) -> u32 {
        // SAFETY: the model checks that the access is exclusive.
        self.count.with(|count| unsafe { *count })
    }
}

/// What one thread of a model does.
type Act<L> = fn(&World<L>);

/// Runs the acts concurrently, the first one in the model's own thread, with at most this many preemptions; then calls
/// `end`. `step` is how far each read of the clock advances it.
fn explore<L: RawLock>(preemptions: usize, step: u64, acts: &'static [Act<L>], end: fn(&World<L>)) {
    explore_from(|_| (), preemptions, step, acts, end);
}

/// [`explore`], starting from the state that `prepare` leaves instead of a free lock.
fn explore_from<L: RawLock>(
    prepare: Act<L>,
    preemptions: usize,
    step: u64,
    acts: &'static [Act<L>],
    end: fn(&World<L>),
) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        STEP.store(step, Relaxed);
        let world = NonNull::from(Box::leak(Box::new(World::<L>::new())));
        // SAFETY: freed below, after all threads have been joined. No reference count: a thread that unwinds from a
        // deadlock would panic again when it decrements the count.
        let shared: &'static World<L> = unsafe { world.as_ref() };
        prepare(shared);
        let others: Vec<_> = acts[1..].iter().map(|act| loom::thread::spawn(move || act(shared))).collect();
        acts[0](shared);
        others.into_iter().for_each(|other| other.join().unwrap());
        end(shared);
        assert!(!shared.lock.is_locked(), "somebody holds it for ever");
        // SAFETY: leaked above, and no thread uses it any more.
        drop(unsafe { Box::from_raw(world.as_ptr()) });
    });
}

fn hold<L: RawLock>(world: &World<L>) {
    world.lock();
    world.write();
    world.unlock();
}

fn hold_twice<L: RawLock>(world: &World<L>) {
    hold(world);
    hold(world);
}

fn try_to_hold<L: RawLock>(world: &World<L>) {
    if world.lock.try_lock() {
        world.write();
        world.unlock();
    }
}

/// Acquires with a timeout that may pass during any sleep.
fn hold_in_time<L: RawLock>(world: &World<L>) {
    let past = Until::after(Duration::ZERO);
    if world.lock.lock_until(&mut L::Node::default(), past).is_some() {
        world.write();
        world.unlock();
    }
}

/// Policy: reads the lock once more, and then sleeps.
#[derive(Debug)]
pub(crate) struct LookTwice {
    looks: u32,
}

impl SpinPolicy for LookTwice {
    fn begin(_: u32) -> LookTwice {
        LookTwice { looks: 0 }
    }

    fn pause(&mut self, _: u32) -> SpinStep {
        self.looks += 1;
        if self.looks > 1 {
            return SpinStep::Sleep;
        }
        hint::spin_loop();
        SpinStep::Recheck
    }

    fn lost_race(&mut self) {}

    fn end(&self, _: SpinEnd) -> u32 {
        0
    }
}

/// The clock stands still: no thread has ever waited long.
pub(crate) const CLOCK_STOPPED: u64 = 0;
/// Every thread that has slept has waited long.
pub(crate) const ALL_STARVE: u64 = 1 << 24;

/// The models of two threads.
macro_rules! with_two {
    ($lock:ty, $step:expr) => {
        #[test]
        fn two_threads_exclude_each_other_without_lost_wake_ups() {
            explore::<$lock>(3, $step, &[hold_twice, hold], |world| assert_eq!(world.read(), 3));
        }

        #[test]
        fn waiter_that_times_out_does_not_block_others() {
            explore::<$lock>(2, $step, &[hold_in_time, hold_twice], |world| assert!(world.read() >= 2));
            explore::<$lock>(3, $step, &[hold_in_time, hold_in_time], |_| {});
        }

        #[test]
        fn try_lock_does_not_wait() {
            explore::<$lock>(3, $step, &[try_to_hold, hold_twice], |world| assert!(world.read() >= 2));
        }
    };
}

/// The models of three threads, for locks whose waiters do not all spin on one word. With two such waiters loom would
/// take the model for an endless one.
macro_rules! with_three {
    ($lock:ty, $step:expr) => {
        #[test]
        fn three_threads_exclude_each_other_without_lost_wake_ups() {
            explore::<$lock>(2, $step, &[hold, hold, hold], |world| assert_eq!(world.read(), 3));
            explore::<$lock>(2, $step, &[hold, hold_in_time, hold], |world| assert!(world.read() >= 2));
            explore::<$lock>(2, $step, &[hold, try_to_hold, hold], |world| assert!(world.read() >= 2));
        }
    };
}

/// A module of models for each lock: its name, the type, the step of the clock, the macros of the models.
macro_rules! model_locks {
    ($($name:ident: $lock:ty, $step:expr, [$($models:ident)+];)*) => {$(
        mod $name {
            use super::*;

            $($models! { $lock, $step })+
        }
    )*};
}

/// The models of a kind. A lock that inherits priorities has models in `rt`. A waiter that spins for a time that depends on
/// a clock is modelled with other policies, below.
macro_rules! model_kind {
    (SpinOnLock false ($module:ident::$lock:ident)) => {
        model_locks! { $module: crate::$lock, CLOCK_STOPPED, [with_two]; }
    };
    (SpinOnOwnWord false ($module:ident::$lock:ident)) => {
        model_locks! { $module: crate::$lock, CLOCK_STOPPED, [with_two with_three]; }
    };
    (Sleep false ($module:ident::$lock:ident)) => {
        model_locks! { $module: crate::$lock, CLOCK_STOPPED, [with_two with_three]; }
    };
    ($waiters:ident $inherits:tt $lock:tt) => {};
}

macro_rules! model_kinds {
    ($(
        $(#[$doc:meta])+
        $variant:ident $name:literal {
            lock: $lock:tt, order: $order:ident, waiters: $waiters:ident, inherits_priority: $inherits:tt,
            $($property:ident: $value:expr),+ $(,)?
        }
    )+) => {
        $(model_kind! { $waiters $inherits $lock })+
    };
}

crate::for_each_lock_kind!(model_kinds);

model_locks! {
    looking_twice: Stealing<LookTwice>, CLOCK_STOPPED, [with_two with_three];
    starving: Steal, ALL_STARVE, [with_two with_three];
    looking_twice_and_starving: Stealing<LookTwice>, ALL_STARVE, [with_two with_three];
}

// Behind the macros that they use.
mod planted;
mod spin;

/// The owner finds one sleeper and one spinner; the spinner takes over the duty to wake the sleeper.
#[test]
fn spinner_takes_over_the_duty_to_wake() {
    let all = |world: &World<_>| assert_eq!(world.read(), 3);
    fn end_hold<L: RawLock>(world: &World<L>) {
        world.write();
        world.unlock();
    }
    explore_from::<Stealing<LookTwice>>(|world| world.lock(), 2, CLOCK_STOPPED, &[end_hold, hold, hold], all);
}
