//! Planted bugs that the models must find.

use super::*;
use crate::Waited;
use crate::park::{self, model::FORGETS};
use crate::raw::free;
use unspin_sync::atomic::{AtomicU32, Ordering};

/// Releases a lock that another thread may hold, and then acts as if nothing had happened.
pub(super) fn access_without_lock<L: RawLock>(world: &World<L>) {
    world.unlock();
    hold(world);
}

/// The model sees two owners.
macro_rules! release_by_another_thread {
    ($lock:ty, $step:expr) => {
        #[test]
        #[should_panic(expected = "Causality violation")]
        fn release_by_another_thread() {
            explore::<$lock>(3, $step, &[hold, access_without_lock], |_| {});
        }
    };
}

pub(super) fn hold_under_a_bad_kernel<L: RawLock>(world: &World<L>) {
    // Relaxed: the threads of a model run one at a time.
    FORGETS.store(true, Relaxed);
    hold(world);
}

pub(super) use release_by_another_thread;

/// The kernel loses a wake-up.
macro_rules! lost_wake_up {
    ($lock:ty, $step:expr) => {
        #[test]
        #[should_panic(expected = "deadlock")]
        fn lost_wake_up() {
            explore::<$lock>(3, $step, &[hold_under_a_bad_kernel, hold], |_| {});
        }
    };
}

pub(super) use lost_wake_up;

/// The bugs of a kind: of those that `model_kind` models.
macro_rules! plant_in_kind {
    (SpinOnLock false ($module:ident::$lock:ident)) => {
        model_locks! { $module: crate::$lock, CLOCK_STOPPED, [release_by_another_thread]; }
    };
    (SpinOnOwnWord false ($module:ident::$lock:ident)) => {
        model_locks! { $module: crate::$lock, CLOCK_STOPPED, [release_by_another_thread]; }
    };
    (Sleep false ($module:ident::$lock:ident)) => {
        model_locks! { $module: crate::$lock, CLOCK_STOPPED, [release_by_another_thread lost_wake_up]; }
    };
    ($waiters:ident $inherits:tt $lock:tt) => {};
}

macro_rules! plant_in_kinds {
    ($(
        $(#[$doc:meta])+
        $variant:ident $name:literal {
            lock: $lock:tt, order: $order:ident, waiters: $waiters:ident, inherits_priority: $inherits:tt,
            $($property:ident: $value:expr),+ $(,)?
        }
    )+) => {
        $(plant_in_kind! { $waiters $inherits $lock })+
    };
}

crate::for_each_lock_kind!(plant_in_kinds);

/// A lock that sleeps, with one selectable mistake.
struct Wrong<const MISTAKE: u32> {
    /// 0 free, 1 held, 2 held and a thread may sleep.
    word: AtomicU32,
}

/// Mistake: releases with Relaxed.
const UNORDERED: u32 = 0;
/// Mistake: a woken thread takes the lock as if no other thread slept.
const NO_DUTY: u32 = 1;
/// Mistake: reads the word and announces a sleeper in two steps instead of one atomic step.
const UNDECIDED: u32 = 2;

// SAFETY: does not exclude, or does not wake; the models must detect it.
unsafe impl<const MISTAKE: u32> RawLock for Wrong<MISTAKE> {
    type Node = ();

    free!(Wrong { word: AtomicU32::new(0) });

    fn try_lock(&self) -> bool {
        // Acquire: partner of the Release in `unlock`, if there is one. Relaxed on failure: a failed attempt reads
        // nothing.
        self.word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn lock(&self, _: &mut ()) -> Waited {
        let mut taken = 1;
        loop {
            // Acquire: as above. Relaxed on failure: the loop tries again.
            if self.word.compare_exchange(0, taken, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Waited::Slept;
            }
            if MISTAKE == UNDECIDED {
                // Relaxed: any value will do.
                if self.word.load(Ordering::Relaxed) != 0 {
                    self.word.store(2, Ordering::Relaxed);
                }
            } else if self.word.compare_exchange(1, 2, Ordering::Relaxed, Ordering::Relaxed) == Err(0) {
                // Relaxed: announces a sleeper to `unlock`, which exchanges the same word.
                continue;
            }
            park::wait(&self.word, 2, None);
            taken = if MISTAKE == NO_DUTY { 1 } else { 2 };
        }
    }

    fn lock_until(&self, _: &mut (), _: Until) -> Option<Waited> {
        unreachable!("no model asks for it")
    }

    unsafe fn unlock(&self) {
        let order = if MISTAKE == UNORDERED { Ordering::Relaxed } else { Ordering::Release };
        // Release: partner of the Acquire in `lock`, unless that is the mistake.
        if self.word.swap(0, order) == 2 {
            park::wake(&self.word, 1);
        }
    }

    fn is_locked(&self) -> bool {
        // Relaxed: a snapshot, which orders nothing.
        self.word.load(Ordering::Relaxed) != 0
    }
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_release_without_ordering() {
    explore::<Wrong<UNORDERED>>(2, CLOCK_STOPPED, &[hold, hold], |_| {});
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_woken_thread_without_duty() {
    explore::<Wrong<NO_DUTY>>(3, CLOCK_STOPPED, &[hold, hold, hold], |_| {});
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_sleeper_that_sets_parked_too_late() {
    explore::<Wrong<UNDECIDED>>(3, CLOCK_STOPPED, &[hold, hold], |_| {});
}

/// Without a mistake the same lock passes.
#[test]
fn same_lock_without_mistake_passes() {
    const NONE: u32 = 3;
    explore::<Wrong<NONE>>(2, CLOCK_STOPPED, &[hold, hold, hold], |world| assert_eq!(world.read(), 3));
}
