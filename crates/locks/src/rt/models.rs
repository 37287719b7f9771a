//! The locks under loom, with a kernel that hands on as the real one does: every interleaving of two or three threads
//! with a bounded number of preemptions. There are no naps, so a thread that is not woken sleeps for ever. The planted
//! bugs are threads that leave out a step.

use super::*;
use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::thread;
// Not loom's `Arc`, which panics a second time when it is dropped during the panic that reports a deadlock.
use std::sync::Arc;

/// Policy: spins for one round; the checker varies how long that takes.
struct LookOnce {
    has_looked: bool,
}

impl SpinPolicy for LookOnce {
    fn begin(_: u32) -> LookOnce {
        LookOnce { has_looked: false }
    }

    fn pause(&mut self, _: u32) -> SpinStep {
        if core::mem::replace(&mut self.has_looked, true) {
            return SpinStep::Sleep;
        }
        thread::yield_now();
        SpinStep::Recheck
    }

    fn lost_race(&mut self) {}

    fn end(&self, _: SpinEnd) -> u32 {
        0
    }
}

struct Guarded<O> {
    lock: PriorityInheriting<O>,
    count: UnsafeCell<u32>,
}

impl<O: QueuePolicy> Guarded<O> {
    fn new() -> Arc<Guarded<O>> {
        Arc::new(Guarded { lock: RawLock::new(), count: UnsafeCell::new(0) })
    }

    /// Loom reports a thread that does not have exclusive access here.
    fn add(&self) {
        // SAFETY: exclusive access is the property under test.
        self.count.with_mut(|count| unsafe { *count += 1 });
    }

    fn once(&self) {
        self.lock.lock(&mut ());
        self.add();
        // SAFETY: acquired above.
        unsafe { self.lock.unlock() };
    }

    /// Adds one if it gets the lock before a timeout that may pass at any moment.
    fn once_in_time(&self) -> bool {
        let soon = Until { clock: crate::Clock::Monotonic, at: core::time::Duration::ZERO };
        let has_it = self.lock.lock_until(&mut (), soon).is_some();
        if has_it {
            self.add();
            // SAFETY: acquired above.
            unsafe { self.lock.unlock() };
        }
        has_it
    }

    fn sum(&self) -> u32 {
        // SAFETY: the other threads have ended.
        self.count.with(|count| unsafe { *count })
    }
}

/// One thread's part in a model.
type Part<O> = fn(&Guarded<O>);

fn urgently<O: QueuePolicy>(guarded: &Guarded<O>) {
    caller::be_real_time(1);
    guarded.once();
}

/// Runs the parts concurrently, the last on the model's first thread. Checks that the lock was acquired `expected`
/// times and is free at the end.
fn play<O: QueuePolicy, const N: usize>(preemptions: usize, parts: [Part<O>; N], expected: u32) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        let guarded = Guarded::<O>::new();
        let (last, others) = parts.split_last().expect("at least one");
        let others: Vec<_> = others
            .iter()
            .map(|&part| {
                let guarded = guarded.clone();
                thread::spawn(move || part(&guarded))
            })
            .collect();
        last(&guarded);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(guarded.sum(), expected);
        assert!(!guarded.lock.is_locked());
    });
}

fn twice<O: QueuePolicy>(guarded: &Guarded<O>) {
    guarded.once();
    guarded.once();
}

#[test]
fn two_stealing_threads() {
    play::<QueueUrgent<Park>, 2>(3, [twice, twice], 4);
}

#[test]
fn two_spinning_threads() {
    play::<QueueUrgent<LookOnce>, 2>(3, [twice, twice], 4);
}

#[test]
fn two_queued_threads() {
    play::<QueueAll, 2>(3, [twice, twice], 4);
}

#[test]
fn three_stealing_threads() {
    play::<QueueUrgent<Park>, 3>(2, [Guarded::once, Guarded::once, Guarded::once], 3);
}

#[test]
fn three_spinning_threads() {
    play::<QueueUrgent<LookOnce>, 3>(1, [Guarded::once, Guarded::once, Guarded::once], 3);
}

#[test]
fn real_time_thread_beside_ordinary_threads() {
    play::<QueueUrgent<Park>, 3>(2, [Guarded::once, urgently, Guarded::once], 3);
}

#[test]
fn real_time_threads_beside_a_spinner() {
    play::<QueueUrgent<LookOnce>, 3>(1, [urgently, Guarded::once, urgently], 3);
}

/// A thread that times out may be the one that was woken, or the one that has the duty to wake others.
#[test]
fn timed_out_sleeper_loses_no_wake_up() {
    play::<QueueUrgent<Park>, 3>(1, [in_time_or_later, Guarded::once, Guarded::once], 3);
}

#[test]
fn timed_out_spinner_loses_no_wake_up() {
    play::<QueueUrgent<LookOnce>, 3>(1, [in_time_or_later, Guarded::once, Guarded::once], 3);
}

fn in_time_or_later<O: QueuePolicy>(guarded: &Guarded<O>) {
    if !guarded.once_in_time() {
        guarded.once();
    }
}

/// A thread that has entered the kernel's queue and given up leaves `WAITERS` set.
#[test]
fn timed_out_queued_thread_loses_no_wake_up() {
    fn gives_up<O: QueuePolicy>(guarded: &Guarded<O>) {
        caller::be_real_time(1);
        if !guarded.once_in_time() {
            guarded.once();
        }
    }
    play::<QueueUrgent<Park>, 2>(4, [gives_up, twice], 3);
}

/// Releases a lock that another thread has acquired, and waits for it.
#[test]
fn foreign_unlock_wakes_a_sleeper() {
    fn waits<O: QueuePolicy>(guarded: &Guarded<O>) {
        guarded.lock.lock(&mut ());
        guarded.lock.lock(&mut ());
        guarded.add();
        // SAFETY: acquired above.
        unsafe { guarded.lock.unlock() };
    }
    fn releases<O: QueuePolicy>(guarded: &Guarded<O>) {
        while !guarded.lock.is_locked() {
            thread::yield_now();
        }
        // SAFETY: the other thread uses no data yet.
        unsafe { guarded.lock.unlock() };
    }
    play::<QueueUrgent<Park>, 2>(3, [waits, releases], 1);
    play::<QueueAll, 2>(3, [waits, releases], 1);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_owner_after_hand_off_forgets_the_sleepers() {
    fn forgets<O: QueuePolicy>(guarded: &Guarded<O>) {
        caller::be_real_time(1);
        pi::lock(&guarded.lock.word, None).expect("it is another's or free");
        guarded.lock.record_owner();
        guarded.add();
        // SAFETY: acquired above.
        unsafe { guarded.lock.unlock() };
    }
    play::<QueueUrgent<Park>, 3>(3, [Guarded::once, forgets, Guarded::once], 3);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_release_without_gate_advance() {
    fn releases_wrongly<O: QueuePolicy>(guarded: &Guarded<O>) {
        guarded.lock.lock(&mut ());
        guarded.add();
        caller::note_released();
        let me = caller::tid();
        if !guarded.lock.try_release(me, 0) {
            assert!(guarded.lock.try_release(me | WAKE, 0));
            park::wake(&raw const guarded.lock.gate, 1);
        }
    }
    play::<QueueUrgent<Park>, 2>(3, [Guarded::once, releases_wrongly], 2);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_sleeping_spinner() {
    fn sleeps_as_a_spinner<O: QueuePolicy>(guarded: &Guarded<O>) {
        // Relaxed: a planted bug.
        guarded.lock.spinner.store(1, Ordering::Relaxed);
        guarded.once();
    }
    play::<QueueUrgent<Park>, 2>(3, [sleeps_as_a_spinner, Guarded::once], 2);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_woken_thread_times_out_without_passing_on() {
    fn gives_up_silently<O: QueuePolicy>(guarded: &Guarded<O>) {
        let mut wait = WaitState {
            wake_duty: 0,
            spins: false,
            waited: Waited::Spun,
            arrived: 0,
            deadline: Deadline::new(None),
        };
        // Is woken, and leaves without passing the duty on.
        while !guarded.lock.take(0, 0) {
            if matches!(guarded.lock.sleep(&mut wait), SleepOutcome::Recheck) && wait.wake_duty != 0 {
                return;
            }
        }
        // SAFETY: acquired above.
        unsafe { guarded.lock.unlock() };
    }
    play::<QueueUrgent<Park>, 3>(3, [gives_up_silently, Guarded::once, Guarded::once], 2);
}
