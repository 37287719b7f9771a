//! The table under loom: a thread registers, a signal takes it, a timeout or a cancellation removes it, and the hand-over to
//! libc empties the table. A thread that is not woken sleeps for ever, which the checker reports. The planted bugs are
//! callers that leave out or exchange steps.

use super::*;
use crate::condition::models::wait;
use crate::park;
use loom::sync::{Mutex, MutexGuard};
use loom::thread;
// Not loom's `Arc`, which panics a second time when it is dropped during the panic that reports a deadlock.
use std::sync::Arc;

/// Two conditions in one bucket: addresses whose hashes are equal.
const CONDITIONS: [usize; 2] = [8, 16];

impl<const BUCKETS: usize> Default for ConditionTable<BUCKETS> {
    fn default() -> Self {
        ConditionTable(core::array::from_fn(|_| Bucket::default()))
    }
}

/// What the threads share: things to take of two sorts, and a condition for each sort. libc's conditions are modelled by
/// [`Condition`], which its own models check.
#[derive(Default)]
struct World {
    things: Mutex<[u32; 2]>,
    table: ConditionTable<2>,
    hand_over: HandOver,
    libcs: [Condition; 2],
}

/// A planted mistake.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    /// A waiter looks for the hand-over before it is in the table.
    LooksTooEarly,
    /// The table is emptied before the hand-over has begun.
    WakesTooEarly,
    /// A signal takes a waiter of whatever condition is in the bucket.
    TakesAnyWaiter,
    /// A waiter that times out forgets the signal that it was given.
    ForgetsTheSignal,
}

/// How a thread waits.
#[derive(Clone, Copy, PartialEq)]
enum Patience {
    Endless,
    /// At some moment the deadline passes, or the thread is cancelled.
    Ends(LeaveReason),
}

type Guard<'a> = MutexGuard<'a, [u32; 2]>;

impl World {
    fn new() -> Arc<World> {
        let world = World::default();
        let [one, other] = CONDITIONS.map(ConditionTable::<2>::index);
        assert_eq!(one, other);
        Arc::new(world)
    }

    /// Takes a thing; waits while there is none.
    fn take(&self, sort: usize, mistake: Mistake) {
        let mut things = self.things.lock().unwrap();
        while things[sort] == 0 {
            things = self.wait(things, sort, Patience::Endless, mistake).0;
        }
        things[sort] -= 1;
    }

    /// The hook of a wait: whether a signal ended it, too.
    fn wait<'a>(
        &'a self,
        things: Guard<'a>,
        sort: usize,
        patience: Patience,
        mistake: Mistake,
    ) -> (Guard<'a>, LeaveResult) {
        if self.hand_over.has_begun() {
            return (self.wait_in_libc(things, sort), LeaveResult::Signalled);
        }
        let waiters = self.waiters(sort, mistake);
        let node = waiters.node(0, &raw const self.things);
        // SAFETY: the node leaves, and `pass_on` is called, below.
        unsafe {
            let is_added = match mistake {
                Mistake::LooksTooEarly => {
                    waiters.bucket.enqueue(&node);
                    true
                }
                _ => waiters.enqueue(&node, &self.hand_over),
            };
            if !is_added {
                return (self.wait_in_libc(things, sort), LeaveResult::Signalled);
            }
            drop(things);
            while patience == Patience::Endless
                && let Some(state) = node.must_sleep_on()
            {
                park::wait(node.word(), state, None);
            }
            let leaving = match patience {
                Patience::Ends(leaving) => leaving,
                Patience::Endless => LeaveReason::Returns,
            };
            let left = waiters.leave(&node, leaving);
            let things = self.things.lock().unwrap();
            node.pass_on();
            (things, left)
        }
    }

    fn wait_in_libc<'a>(&'a self, things: Guard<'a>, sort: usize) -> Guard<'a> {
        let (held, again) = (core::cell::Cell::new(Some(things)), core::cell::Cell::new(None));
        let unlock = || drop(held.take());
        wait(&self.libcs[sort], unlock, || again.set(Some(self.things.lock().unwrap())));
        again.take().expect("the wait has locked the mutex")
    }

    fn waiters(&self, sort: usize, mistake: Mistake) -> Waiters<'_> {
        match mistake {
            Mistake::TakesAnyWaiter => self.table.waiters(CONDITIONS[0]),
            _ => self.table.waiters(CONDITIONS[sort]),
        }
    }

    fn put(&self, sort: usize) {
        self.things.lock().unwrap()[sort] += 1;
    }

    /// The hook of a signal.
    fn signal(&self, sort: usize, mistake: Mistake) {
        match self.hand_over.has_begun() {
            true => self.libcs[sort].signal(),
            false => self.waiters(sort, mistake).signal(),
        }
    }

    /// What lets in code that calls libc directly.
    fn give_up(&self, mistake: Mistake) {
        if mistake == Mistake::WakesTooEarly {
            self.table.wake_everyone();
            self.hand_over.begin();
        } else {
            self.hand_over.begin();
            self.table.wake_everyone();
        }
    }
}

/// Runs a model with at most this many preemptions.
fn explore(preemptions: usize, body: impl Fn(&Arc<World>) + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || body(&World::new()));
}

fn spawn(world: &Arc<World>, act: impl Fn(&World) + 'static) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || act(&world))
}

/// A waiter of each of two conditions in one bucket, and a signal for each.
fn signals_reach_their_conditions(mistake: Mistake) {
    explore(2, move |world| {
        let takers = [0, 1].map(|sort| spawn(world, move |world| world.take(sort, mistake)));
        for sort in [1, 0] {
            world.put(sort);
            world.signal(sort, mistake);
        }
        takers.into_iter().for_each(|taker| taker.join().unwrap());
        assert!(CONDITIONS.iter().all(|&condition| !world.table.waiters(condition).exist()));
    });
}

#[test]
fn signal_takes_a_waiter_of_its_condition() {
    signals_reach_their_conditions(Mistake::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_signal_takes_a_waiter_of_another_condition() {
    signals_reach_their_conditions(Mistake::TakesAnyWaiter);
}

/// A thread that times out, or is cancelled, while another one waits for the same condition, and one signal comes.
fn leaver_swallows_no_signal(leaving: LeaveReason, mistake: Mistake) {
    explore(3, move |world| {
        let taker = spawn(world, |world| world.take(0, Mistake::None));
        let leaver = spawn(world, move |world| {
            let things = world.things.lock().unwrap();
            if things[0] > 0 {
                return;
            }
            let (things, left) = world.wait(things, 0, Patience::Ends(leaving), Mistake::None);
            drop(things);
            // A wait that returns keeps its signal, and the program acts on it: here it passes it on.
            let keeps = left == LeaveResult::Signalled && leaving == LeaveReason::Returns;
            if keeps && mistake == Mistake::None {
                world.signal(0, Mistake::None);
            }
        });
        world.put(0);
        world.signal(0, Mistake::None);
        leaver.join().unwrap();
        taker.join().unwrap();
    });
}

#[test]
fn timed_out_waiter_is_removed_or_keeps_its_signal() {
    leaver_swallows_no_signal(LeaveReason::Returns, Mistake::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_timed_out_waiter_forgets_its_signal() {
    leaver_swallows_no_signal(LeaveReason::Returns, Mistake::ForgetsTheSignal);
}

#[test]
fn cancelled_waiter_passes_its_signal_to_a_waiter_of_its_condition() {
    leaver_swallows_no_signal(LeaveReason::Cancelled, Mistake::None);
}

/// The hand-over begins at any moment of a wait. The signal comes through the hook.
#[test]
fn waiter_is_signalled_by_the_hook_whenever_the_hand_over_begins() {
    explore(3, |world| {
        let taker = spawn(world, |world| world.take(0, Mistake::None));
        let loader = spawn(world, |world| world.give_up(Mistake::None));
        world.put(0);
        world.signal(0, Mistake::None);
        taker.join().unwrap();
        loader.join().unwrap();
    });
}

/// Code that calls libc directly signals libc's condition, once it is in the process.
fn libcs_signal_reaches_the_waiter(mistake: Mistake) {
    explore(3, move |world| {
        let taker = spawn(world, move |world| world.take(0, mistake));
        world.give_up(mistake);
        world.put(0);
        world.libcs[0].signal();
        taker.join().unwrap();
    });
}

#[test]
fn waiter_is_found_by_libcs_signal_after_the_hand_over() {
    libcs_signal_reaches_the_waiter(Mistake::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_waiter_looks_for_the_hand_over_before_it_is_in_the_table() {
    libcs_signal_reaches_the_waiter(Mistake::LooksTooEarly);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_table_is_emptied_before_the_hand_over_begins() {
    libcs_signal_reaches_the_waiter(Mistake::WakesTooEarly);
}
