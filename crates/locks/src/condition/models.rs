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
struct Shop {
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

impl Shop {
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
            assert_eq!(self.condition.leave(&node, Leaving::Returns), Left::Signalled);
            let things = self.things.lock().unwrap();
            if mistake != Mistake::BreaksTheChain {
                node.pass_on();
            }
            things
        }
    }

    /// Waits, and gives up at some moment: by a timeout that has passed, or by cancellation.
    fn give_up(&self, leaving: Leaving, mistake: Mistake) -> Left {
        let things = self.things.lock().unwrap();
        if *things > 0 {
            return Left::Unsignalled;
        }
        let node = Node::new(0);
        // SAFETY: the node leaves, and `pass_on` is called, below.
        unsafe {
            self.condition.enqueue(&node);
            drop(things);
            let leaving = if mistake == Mistake::KeepsTheSignal { Leaving::Returns } else { leaving };
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

fn shop() -> Arc<Shop> {
    Arc::new(Shop::default())
}

fn signal_reaches(mistake: Mistake) {
    loom::model(move || {
        let shop = shop();
        let taker = {
            let shop = shop.clone();
            thread::spawn(move || shop.take(mistake))
        };
        shop.put(1);
        shop.condition.signal();
        taker.join().unwrap();
        shop.condition.retire();
    });
}

#[test]
fn no_signal_is_lost() {
    signal_reaches(Mistake::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_who_comes_late_to_the_list_loses_the_signal() {
    signal_reaches(Mistake::LateToTheList);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_a_sleeper_that_does_not_say_so_is_not_woken() {
    signal_reaches(Mistake::SleepsUnsaid);
}

/// Two takers wait before a broadcast, so that they form a chain.
fn broadcast_reaches_all(mistake: Mistake) {
    bounded(3).check(move || {
        let shop = shop();
        let takers = [mistake, Mistake::None].map(|mistake| {
            let shop = shop.clone();
            thread::spawn(move || shop.take(mistake))
        });
        shop.put(2);
        shop.condition.broadcast();
        takers.into_iter().for_each(|taker| taker.join().unwrap());
        shop.condition.retire();
    });
}

#[test]
fn a_broadcast_wakes_all() {
    broadcast_reaches_all(Mistake::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_a_chain_breaks() {
    broadcast_reaches_all(Mistake::BreaksTheChain);
}

/// One taker waits, another gives up at any moment, and there is one thing. The signal that the second one was given
/// must reach the taker. If the second one returns with a signal, it takes the thing; then the taker gets another.
fn who_gives_up_swallows_nothing(leaving: Leaving, wake: fn(&Condition), mistake: Mistake) {
    bounded(3).check(move || {
        let shop = shop();
        let taker = {
            let shop = shop.clone();
            thread::spawn(move || shop.take(Mistake::None))
        };
        let leaver = {
            let shop = shop.clone();
            thread::spawn(move || {
                let left = shop.give_up(leaving, mistake);
                if left == Left::Signalled && leaving == Leaving::Returns {
                    shop.condition.signal();
                }
            })
        };
        shop.put(1);
        wake(&shop.condition);
        leaver.join().unwrap();
        taker.join().unwrap();
        shop.condition.retire();
    });
}

#[test]
fn a_timeout_takes_a_signal_or_leaves_it() {
    who_gives_up_swallows_nothing(Leaving::Returns, Condition::signal, Mistake::None);
}

#[test]
fn a_cancelled_thread_hands_its_signal_on() {
    who_gives_up_swallows_nothing(Leaving::Cancelled, Condition::signal, Mistake::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_a_cancelled_thread_keeps_its_signal() {
    who_gives_up_swallows_nothing(Leaving::Cancelled, Condition::signal, Mistake::KeepsTheSignal);
}

#[test]
fn who_leaves_a_broadcast_passes_it_on() {
    who_gives_up_swallows_nothing(Leaving::Cancelled, Condition::broadcast, Mistake::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_who_leaves_a_broadcast_breaks_it() {
    who_gives_up_swallows_nothing(Leaving::Cancelled, Condition::broadcast, Mistake::BreaksTheChain);
}

/// The memory of a condition may be reused after `retire`.
#[test]
fn nobody_touches_a_condition_that_was_retired() {
    bounded(3).check(|| {
        let shop = shop();
        // Written once the condition was retired: loom reports a read of this memory that is not ordered before the
        // write.
        let memory = Arc::new(loom::cell::UnsafeCell::new(0));
        let taker = {
            let (shop, memory) = (shop.clone(), memory.clone());
            thread::spawn(move || {
                let node = Node::new(0);
                let things = shop.things.lock().unwrap();
                if *things > 0 {
                    return;
                }
                // SAFETY: the node leaves, and `pass_on` is called, below.
                unsafe {
                    shop.condition.enqueue(&node);
                    drop(things);
                    while let Some(state) = node.must_sleep_on() {
                        park::wait(node.word(), state, None);
                    }
                    // The condition exists until the node has left.
                    memory.with(|at| at.read());
                    shop.condition.leave(&node, Leaving::Returns);
                    node.pass_on();
                }
            })
        };
        shop.put(1);
        shop.condition.signal();
        shop.condition.retire();
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
