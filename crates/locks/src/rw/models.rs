//! The read-write locks in every interleaving of a few threads. Checked: a writer is alone, readers see what the last writer
//! wrote, no thread sleeps for ever, and a waiter that times out blocks no other.
//!
//! A biased lock is entered with its bias set: `bias` reads once.

use super::host::UNFENCED;
use super::order::{Order, Policy, policies};
use super::{Phased, RawRwLock, Recursion};
use crate::Until;
use crate::host::model::STEP;
use crate::models::{ALL_STARVE, CLOCK_STOPPED, LookTwice};
use crate::park::model::FORGETS;
use crate::waiting::Park;
use core::ptr::NonNull;
use core::time::Duration;
use loom::cell::UnsafeCell;
use unspin_sync::machine::Ordering::Relaxed;

policies! {
    Fair: Phases, false, Park;
    FairLooking: Phases, false, LookTwice;
    Writer: WritersFirst, false, Park;
    WriterLooking: WritersFirst, false, LookTwice;
    Biased: WritersFirst, true, Park;
    BiasedLooking: WritersFirst, true, LookTwice;
}

struct World<P> {
    lock: Phased<P>,
    count: UnsafeCell<u32>,
}

// SAFETY: the count is used under the lock; the models check that it excludes.
unsafe impl<P> Sync for World<P> {}

type Act<P> = fn(&World<P>);

fn explore<P: Policy>(preemptions: usize, step: u64, prepare: Act<P>, acts: &'static [Act<P>]) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        STEP.store(step, Relaxed);
        let world =
            NonNull::from(Box::leak(Box::new(World::<P> { lock: Phased::new(), count: UnsafeCell::new(0) })));
        // SAFETY: freed below, after all threads have been joined. No reference count: as in `crate::models`.
        let shared: &'static World<P> = unsafe { world.as_ref() };
        prepare(shared);
        let others: Vec<_> = acts[1..].iter().map(|act| loom::thread::spawn(move || act(shared))).collect();
        acts[0](shared);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(!shared.lock.is_write_locked() && shared.lock.readers() == 0, "a thread holds it for ever");
        assert!(shared.lock.try_write(), "it is not free");
        // SAFETY: leaked above, and no thread uses it any more.
        drop(unsafe { Box::from_raw(world.as_ptr()) });
    });
}

fn nothing<P: Policy>(_: &World<P>) {}

/// Sets the bias: the first read only prepares for it.
fn bias<P: Policy>(world: &World<P>) {
    read(world);
    read(world);
}

fn look<P: Policy>(world: &World<P>) {
    // SAFETY: the model checks that no thread writes.
    world.count.with(|count| unsafe { core::ptr::read(count) });
}

fn change<P: Policy>(world: &World<P>) {
    // SAFETY: the model checks that the access is exclusive.
    world.count.with_mut(|count| unsafe { *count += 1 });
}

fn leave_read<P: Policy>(world: &World<P>) {
    look(world);
    // SAFETY: the caller holds it, or is a planted bug.
    unsafe { world.lock.unlock_read() };
}

fn leave_write<P: Policy>(world: &World<P>) {
    change(world);
    // SAFETY: as above.
    unsafe { world.lock.unlock_write() };
}

fn read<P: Policy>(world: &World<P>) {
    world.lock.read(Recursion::Allowed, None).unwrap();
    leave_read(world);
}

/// Holds it twice, although a writer may wait in between.
fn read_again<P: Policy>(world: &World<P>) {
    world.lock.read(Recursion::Allowed, None).unwrap();
    world.lock.read(Recursion::Allowed, None).unwrap();
    look(world);
    // SAFETY: held twice.
    unsafe { world.lock.unlock_read() };
    leave_read(world);
}

fn write<P: Policy>(world: &World<P>) {
    world.lock.write(None).unwrap();
    leave_write(world);
}

/// With a time that may pass during any sleep.
fn read_in_time<P: Policy>(world: &World<P>) {
    if world.lock.read(Recursion::Excluded, Some(Until::after(Duration::ZERO))).is_ok() {
        leave_read(world);
    }
}

fn write_in_time<P: Policy>(world: &World<P>) {
    if world.lock.write(Some(Until::after(Duration::ZERO))).is_some() {
        leave_write(world);
    }
}

fn try_read<P: Policy>(world: &World<P>) {
    if world.lock.try_read(Recursion::Allowed).is_ok() {
        leave_read(world);
    }
}

fn try_write<P: Policy>(world: &World<P>) {
    if world.lock.try_write() {
        leave_write(world);
    }
}

/// The models of a policy: its name, the policy, the step of the clock, and how the lock is prepared.
macro_rules! models {
    ($($name:ident: $policy:ty, $step:expr, $prepare:ident;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn reader_and_writer_exclude_each_other() {
                explore::<$policy>(3, $step, $prepare, &[read, write]);
                explore::<$policy>(3, $step, $prepare, &[read_again, write]);
                explore::<$policy>(2, $step, $prepare, &[write, write]);
            }

            #[test]
            fn waiter_that_times_out_blocks_no_other() {
                explore::<$policy>(2, $step, $prepare, &[read, write_in_time]);
                explore::<$policy>(2, $step, $prepare, &[write, read_in_time]);
                explore::<$policy>(1, $step, $prepare, &[read, write_in_time, write]);
            }

            #[test]
            fn tries_do_not_wait() {
                explore::<$policy>(3, $step, $prepare, &[try_write, read]);
                explore::<$policy>(3, $step, $prepare, &[try_read, write]);
                explore::<$policy>(1, $step, $prepare, &[try_write, read, write]);
            }
        }
    )*};
}

models! {
    fair: Fair, CLOCK_STOPPED, nothing;
    fair_looking: FairLooking, CLOCK_STOPPED, nothing;
    writer: Writer, CLOCK_STOPPED, nothing;
    writer_looking: WriterLooking, CLOCK_STOPPED, nothing;
    writer_starving: Writer, ALL_STARVE, nothing;
    writer_looking_starving: WriterLooking, ALL_STARVE, nothing;
    biased: Biased, CLOCK_STOPPED, bias;
    biased_looking: BiasedLooking, CLOCK_STOPPED, bias;
}

macro_rules! three_threads {
    ($($name:ident: $policy:ty, $step:expr, $prepare:ident;)*) => {$(
        #[test]
        fn $name() {
            explore::<$policy>(1, $step, $prepare, &[read, write, read]);
            explore::<$policy>(1, $step, $prepare, &[write, write, read]);
        }
    )*};
}

three_threads! {
    three_threads_exclude_each_other_fair: Fair, CLOCK_STOPPED, nothing;
    three_threads_exclude_each_other_writer: Writer, CLOCK_STOPPED, nothing;
    three_threads_exclude_each_other_writer_starving: Writer, ALL_STARVE, nothing;
}

/// A biased lock has more steps; these are the three threads that only it has: two slots, and a writer that drains them beside
/// another writer.
#[test]
fn two_readers_and_a_writer_that_drains() {
    explore::<Biased>(1, CLOCK_STOPPED, bias, &[read, write, read]);
}

/// The bias returns between two writers, one of which may wait.
#[test]
fn bias_returns_between_writers() {
    fn write_read_write<P: Policy>(world: &World<P>) {
        write(world);
        bias(world);
        write(world);
    }
    explore::<Biased>(1, CLOCK_STOPPED, bias, &[write_read_write, read]);
    explore::<Biased>(1, CLOCK_STOPPED, bias, &[write_read_write, write]);
}

/// What one thread has acquired, another one releases.
#[test]
fn hold_is_released_by_another_thread() {
    fn acquire<P: Policy>(world: &World<P>) {
        bias(world);
        world.lock.read(Recursion::Allowed, None).unwrap();
    }
    explore::<Biased>(2, CLOCK_STOPPED, acquire, &[nothing, leave_read, write]);
    explore::<Writer>(2, CLOCK_STOPPED, acquire, &[nothing, leave_read, write]);
}

/// Planted bug: a reader publishes itself and reads the bias without a fence in between.
#[test]
#[should_panic(expected = "Causality violation")]
fn planted_reader_without_fence() {
    fn read_unfenced<P: Policy>(world: &World<P>) {
        // Relaxed: the threads of a model run one at a time.
        UNFENCED.store(true, Relaxed);
        read(world);
    }
    explore::<Biased>(3, CLOCK_STOPPED, bias, &[read_unfenced, write]);
}

/// Planted bug: a thread releases a lock that another one holds, and acts as if nothing had happened.
#[test]
#[should_panic(expected = "Causality violation")]
fn planted_release_of_another_threads_hold() {
    fn release_and_write<P: Policy>(world: &World<P>) {
        // SAFETY: the planted bug.
        unsafe { world.lock.unlock_write() };
        write(world);
    }
    explore::<Writer>(3, CLOCK_STOPPED, nothing, &[write, release_and_write]);
}

fn write_under_a_bad_kernel<P: Policy>(world: &World<P>) {
    // Relaxed: the threads of a model run one at a time.
    FORGETS.store(true, Relaxed);
    write(world);
}

/// Planted bug: the kernel loses the wake-up of a writer that waits for a slot.
#[test]
#[should_panic(expected = "deadlock")]
fn planted_lost_wake_up_of_a_drainer() {
    explore::<Biased>(3, CLOCK_STOPPED, bias, &[write_under_a_bad_kernel, read]);
}

/// Planted bug: the kernel loses the wake-up of a waiter in the queue.
#[test]
#[should_panic(expected = "deadlock")]
fn planted_lost_wake_up_of_a_waiter() {
    explore::<Fair>(3, CLOCK_STOPPED, nothing, &[write_under_a_bad_kernel, read]);
}
