//! Mutex and condition variable under loom: every interleaving of two or three threads. A thread that is not woken
//! sleeps for ever, which the checker reports. The planted bugs are callers that leave out a step; the models must find
//! them.

use super::*;
use loom::sync::{Mutex, MutexGuard};
use loom::thread;
// Not loom's `Arc`, which panics a second time when it is dropped during the panic that reports a deadlock.
use std::sync::Arc;

/// What the threads share: a mutex that guards a count of things to take, and the condition for which takers wait.
#[derive(Default)]
struct Model {
    things: Mutex<u32>,
    condition: Condition,
}

/// A planted mistake of a taker.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    /// Releases the mutex before it is in the list.
    LateToTheList,
    /// Is woken by a broadcast and does not wake the next waiter.
    BreaksTheChain,
    /// Sleeps without announcing it: a signal wakes no thread.
    SleepsUnsaid,
    /// Is cancelled and keeps the signal that it was given.
    KeepsTheSignal,
}

impl Model {
    /// Takes one thing; waits while there is none.
    fn take(&self, mistake: Mistake) {
        let mut things = self.things.lock().unwrap();
        while *things == 0 {
            things = self.wait(things, mistake);
        }
        *things -= 1;
    }

    fn wait<'a>(&'a self, things: MutexGuard<'a, u32>, mistake: Mistake) -> MutexGuard<'a, u32> {
        let node = Node::new(0);
        // SAFETY: the node leaves, and `pass_on` is called, below.
        unsafe {
            if mistake == Mistake::LateToTheList {
                drop(things);
                self.condition.enqueue(&node);
            } else {
                self.condition.enqueue(&node);
                drop(things);
            }
            while mistake == Mistake::SleepsUnsaid && node.is_waiting() {
                park::wait(node.word(), state::WAITING, None);
            }
            while let Some(state) = node.must_sleep_on() {
                park::wait(node.word(), state, None);
            }
            assert_eq!(self.condition.leave(&node, LeaveReason::Returns), LeaveResult::Signalled);
            let things = self.things.lock().unwrap();
            if mistake != Mistake::BreaksTheChain {
                node.pass_on();
            }
            things
        }
    }

    /// Waits, and gives up at some moment: by a timeout that has passed, or by cancellation.
    fn give_up(&self, leaving: LeaveReason, mistake: Mistake) -> LeaveResult {
        let things = self.things.lock().unwrap();
        if *things > 0 {
            return LeaveResult::Unsignalled;
        }
        let node = Node::new(0);
        // SAFETY: the node leaves, and `pass_on` is called, below.
        unsafe {
            self.condition.enqueue(&node);
            drop(things);
            let leaving = if mistake == Mistake::KeepsTheSignal { LeaveReason::Returns } else { leaving };
            let left = self.condition.leave(&node, leaving);
            let things = self.things.lock().unwrap();
            if mistake != Mistake::BreaksTheChain {
                node.pass_on();
            }
            drop(things);
            left
        }
    }

    fn put(&self, things: u32) {
        *self.things.lock().unwrap() += things;
    }
}

/// [`Condition::wait`] for models of what is built on it: a thread that a deadlock unwinds does not touch the condition,
/// which would be a second panic.
pub(crate) fn wait(condition: &Condition, unlock: impl FnOnce(), lock: impl FnOnce()) {
    let node = Node::new(0);
    // SAFETY: the node leaves, and `pass_on` is called.
    unsafe {
        condition.enqueue(&node);
        unlock();
        while let Some(state) = node.must_sleep_on() {
            park::wait(node.word(), state, None);
        }
        condition.leave(&node, LeaveReason::Returns);
        lock();
        node.pass_on();
    }
}

fn model() -> Arc<Model> {
    Arc::new(Model::default())
}

fn signal_reaches(mistake: Mistake) {
    loom::model(move || {
        let model = model();
        let taker = {
            let model = model.clone();
            thread::spawn(move || model.take(mistake))
        };
        model.put(1);
        model.condition.signal();
        taker.join().unwrap();
        model.condition.retire();
    });
}

#[test]
fn signal_reaches_a_waiter() {
    signal_reaches(Mistake::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_late_enqueue_loses_the_signal() {
    signal_reaches(Mistake::LateToTheList);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_unannounced_sleeper_is_not_woken() {
    signal_reaches(Mistake::SleepsUnsaid);
}

/// Two takers wait before a broadcast, so that they form a chain.
fn broadcast_reaches_all(mistake: Mistake) {
    bounded(3).check(move || {
        let model = model();
        let takers = [mistake, Mistake::None].map(|mistake| {
            let model = model.clone();
            thread::spawn(move || model.take(mistake))
        });
        model.put(2);
        model.condition.broadcast();
        takers.into_iter().for_each(|taker| taker.join().unwrap());
        model.condition.retire();
    });
}

#[test]
fn broadcast_wakes_all() {
    broadcast_reaches_all(Mistake::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_broken_wake_up_chain() {
    broadcast_reaches_all(Mistake::BreaksTheChain);
}

/// One taker waits, another gives up at any moment, and there is one thing. The signal that the second one was given
/// must reach the taker. If the second one returns with a signal, it takes the thing; then the taker gets another.
fn leaving_waiter_swallows_no_signal(leaving: LeaveReason, wake: fn(&Condition), mistake: Mistake) {
    bounded(3).check(move || {
        let model = model();
        let taker = {
            let model = model.clone();
            thread::spawn(move || model.take(Mistake::None))
        };
        let leaver = {
            let model = model.clone();
            thread::spawn(move || {
                let left = model.give_up(leaving, mistake);
                if left == LeaveResult::Signalled && leaving == LeaveReason::Returns {
                    model.condition.signal();
                }
            })
        };
        model.put(1);
        wake(&model.condition);
        leaver.join().unwrap();
        taker.join().unwrap();
        model.condition.retire();
    });
}

#[test]
fn timed_out_waiter_takes_or_leaves_the_signal() {
    leaving_waiter_swallows_no_signal(LeaveReason::Returns, Condition::signal, Mistake::None);
}

#[test]
fn cancelled_waiter_passes_its_signal_on() {
    leaving_waiter_swallows_no_signal(LeaveReason::Cancelled, Condition::signal, Mistake::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_cancelled_waiter_keeps_its_signal() {
    leaving_waiter_swallows_no_signal(LeaveReason::Cancelled, Condition::signal, Mistake::KeepsTheSignal);
}

#[test]
fn waiter_that_leaves_a_broadcast_wakes_the_next() {
    leaving_waiter_swallows_no_signal(LeaveReason::Cancelled, Condition::broadcast, Mistake::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_leaving_waiter_breaks_a_broadcast() {
    leaving_waiter_swallows_no_signal(LeaveReason::Cancelled, Condition::broadcast, Mistake::BreaksTheChain);
}

/// The memory of a condition may be reused after `retire`.
#[test]
fn retired_condition_is_not_touched() {
    bounded(3).check(|| {
        let model = model();
        // Written once the condition was retired: loom reports a read of this memory that is not ordered before the
        // write.
        let memory = Arc::new(loom::cell::UnsafeCell::new(0));
        let taker = {
            let (model, memory) = (model.clone(), memory.clone());
            thread::spawn(move || {
                let node = Node::new(0);
                let things = model.things.lock().unwrap();
                if *things > 0 {
                    return;
                }
                // SAFETY: the node leaves, and `pass_on` is called, below.
                unsafe {
                    model.condition.enqueue(&node);
                    drop(things);
                    while let Some(state) = node.must_sleep_on() {
                        park::wait(node.word(), state, None);
                    }
                    // The condition exists until the node has left.
                    memory.with(|at| at.read());
                    model.condition.leave(&node, LeaveReason::Returns);
                    node.pass_on();
                }
            })
        };
        model.put(1);
        model.condition.signal();
        model.condition.retire();
        // SAFETY: that no thread reads it any more is the property under test.
        unsafe { memory.with_mut(|at| at.write(1)) };
        taker.join().unwrap();
    });
}

/// More preemptions find nothing that two cannot show, and take hours with three threads.
fn bounded(preemptions: usize) -> loom::model::Builder {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder
}
