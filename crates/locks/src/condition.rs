//! A condition variable that goes with any lock.
//!
//! Those who wait stand in a list, real-time threads by priority before all others, who stand by arrival. A signal takes
//! out exactly one that waited before it: nobody who comes later can consume it, none is lost, and nobody is woken in vain.
//! A broadcast takes out all; it wakes the real-time threads and the first of the others, each of which wakes the next
//! when it has acquired the mutex again ([`Node::pass_on`]). So a broadcast sends no herd to a mutex that one can have. (A
//! program that waits with several mutexes makes a mistake; those that want another than the first are woken at once. Who cannot
//! have the mutex soon had better pass on before: each would wait anew while others steal it, and the last for all of them.)
//!
//! A wait is made of steps, so that a caller can do things between them, as sleeping where a thread may be cancelled.
//! [`Condition::wait`] is their sum:
//!
//! | step | mutex |
//! |---|---|
//! | [`Condition::enqueue`] | held |
//! | release of the mutex | |
//! | sleep on [`Node::word`] while [`Node::must_sleep_on`] | not held |
//! | [`Condition::leave`], whatever ended the sleep | not held |
//! | acquisition of the mutex | |
//! | [`Node::pass_on`] | held |
//!
//! **Who may touch the condition when.** A waiter whom a broadcast took out does not touch the condition any more. One whom
//! a signal took out does so once more, in `leave`, as one does who takes itself out. [`Condition::retire`] waits for those;
//! after it the memory may be used for something else.
//!
//! **After fork()** the list of a child names threads that do not exist there. Their nodes lie on stacks that the child uses
//! anew, so it must not even look at them: whoever comes first in the child empties the list. glibc's condition variable
//! hands the child's signals to its parent's waiters, and hangs when it is destroyed; this one does neither.
//!
//! Lock order: the latch is the innermost lock, held for a few writes and never over a system call.

mod latch;
mod list;
#[cfg(all(test, loom))]
mod models;
mod node;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use crate::park::{self, Wake};
use crate::{Until, host};
use core::time::Duration;
use latch::Latch;
use list::{Chain, List, Seen};
use node::state;
use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sync::hint;

pub use node::Node;

/// See the module. All zeroes: nobody waits.
#[repr(C)]
#[derive(Default, Debug)]
pub struct Condition {
    latch: Latch,
    /// Generation of the process whose threads are in the list and in `signalled`. Protected by the latch.
    generation: AtomicU32,
    /// Protected by the latch.
    list: List,
    /// How many were taken out by a signal and have not left yet. Raised under the latch, lowered by themselves.
    signalled: AtomicU32,
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// By a signal or a broadcast.
    Signalled,
    /// The time came first.
    TimedOut,
}

/// What a waiter finds when it leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// It was taken out by a signal or a broadcast.
    Signalled,
    /// It was not, and has taken itself out.
    Unsignalled,
}

/// Why a thread leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaving {
    /// It was woken, or its time is over. A signal that it was given is its own.
    Returns,
    /// It was cancelled. A signal that it was given goes to another.
    Cancelled,
}

impl Condition {
    /// Nobody waits.
    #[cfg(not(any(loom, shuttle)))]
    #[expect(clippy::declare_interior_mutable_const, reason = "a value to begin with, as in lock_api")]
    // SAFETY: the fields are atomic integers and pointers, for all of which zero is a value.
    pub const NEW: Condition = unsafe { core::mem::zeroed() };

    /// Waits. Releases the mutex by `unlock` once every later signal will be noticed, sleeps until it is woken or that time
    /// comes, and returns when `lock` has acquired the mutex again. The thread has that real-time priority, or 0.
    pub fn wait(
        &self,
        priority: u32,
        until: Option<Until>,
        unlock: impl FnOnce(),
        lock: impl FnOnce(),
    ) -> Wait {
        let node = Node::new(priority);
        // SAFETY: `stay` leaves, and passes on, even if a closure panics.
        unsafe { self.enqueue(&node) };
        let stay = Stay { condition: self, node: &node };
        unlock();
        while let Some(state) = node.must_sleep_on().filter(|_| !node.is_stranded()) {
            if park::wait(node.word(), state, until) == Wake::TimedOut {
                break;
            }
        }
        let left = stay.leave();
        lock();
        // SAFETY: `stay` has left, and this is the first time.
        unsafe { node.pass_on() };
        match left {
            Left::Signalled => Wait::Signalled,
            Left::Unsignalled if node.is_stranded() => Wait::Signalled,
            Left::Unsignalled => Wait::TimedOut,
        }
    }

    /// Adds the calling thread to those who wait. Every signal from now on is one that it may get.
    ///
    /// # Safety
    /// The node is new, and neither moves nor goes before [`leave`](Self::leave) and then [`Node::pass_on`] have returned.
    pub unsafe fn enqueue(&self, node: &Node) {
        self.enter();
        // SAFETY: the latch is held; all nodes in the list are alive, as whoever enqueues promises.
        unsafe { self.list.add(node) };
        self.latch.release();
    }

    /// Takes the thread out if nobody has, and settles what it was given if somebody has. One who belongs to a broadcast
    /// sleeps here until its turn has come, which is when the one before it has the mutex that both want.
    ///
    /// # Safety
    /// The node is enqueued in this condition, and has not left.
    pub unsafe fn leave(&self, node: &Node, leaving: Leaving) -> Left {
        match node.resolve(state::LEAVING) {
            Ok(_) => {
                self.take_out(node);
                Left::Unsignalled
            }
            Err(state::SIGNALLED) => {
                if leaving == Leaving::Cancelled {
                    self.signal();
                }
                self.confirm(node);
                Left::Signalled
            }
            Err(_) => {
                while let Some(state) = node.must_sleep_on().filter(|_| !node.is_stranded()) {
                    park::wait(node.word(), state, None);
                }
                Left::Signalled
            }
        }
    }

    /// Wakes one of those who wait.
    #[inline]
    pub fn signal(&self) {
        // Whoever began to wait before the caller acquired the mutex last is seen: he was in the list when he released it.
        if !self.list.is_empty() {
            self.signal_one();
        }
    }

    /// Wakes all who wait.
    #[inline]
    pub fn broadcast(&self) {
        // As in `signal`.
        if !self.list.is_empty() {
            self.release_all();
        }
    }

    /// Returns when nobody waits, and everybody who was woken has left: then nobody touches the condition any more.
    /// Whoever destroys a condition on which threads wait has made a mistake, and waits for them, as with glibc.
    pub fn retire(&self) {
        loop {
            self.enter();
            let waits = !self.list.is_empty();
            // Acquire: partner of the Release in `confirm`: its thread has left.
            let signalled = self.signalled.load(Ordering::Acquire);
            self.latch.release();
            if !waits && signalled == 0 {
                return;
            }
            pause(&self.signalled, signalled);
        }
    }

    /// Acquires the latch. What a fork has left behind is forgotten.
    fn enter(&self) {
        let here = host::generation();
        self.latch.acquire(here);
        // Relaxed, here and below: protected by the latch.
        if self.generation.load(Ordering::Relaxed) != here {
            self.generation.store(here, Ordering::Relaxed);
            self.list.clear();
            self.signalled.store(0, Ordering::Relaxed);
        }
    }

    /// Takes out a node that leaves.
    #[cold]
    fn take_out(&self, node: &Node) {
        self.enter();
        if !node.is_stranded() {
            // SAFETY: the latch is held; nobody but its thread takes out a node that leaves, so it is in the list, unless
            // that was forgotten after a fork.
            unsafe { self.list.remove(self.list.place(node)) };
        }
        self.latch.release();
    }

    /// Says that a thread which a signal took out does not touch the condition any more.
    fn confirm(&self, node: &Node) {
        if !node.is_stranded() {
            // Release: partner of the Acquire in `retire`.
            self.signalled.fetch_sub(1, Ordering::Release);
        }
    }

    #[cold]
    fn signal_one(&self) {
        let mut signalled = None;
        self.enter();
        // SAFETY: the latch is held; all nodes in the list are alive. One that was moved on may be gone at once, hence it is
        // taken out without being touched, and woken by its address.
        unsafe {
            self.list.each(|node, place| {
                let word = core::ptr::from_ref(node.word());
                let Ok(before) = node.resolve(state::SIGNALLED) else { return Seen::More };
                self.list.remove(place);
                signalled = Some((word, before));
                Seen::Enough
            });
        }
        if signalled.is_some() {
            // Relaxed: whoever reads it has the latch after us. Its thread may have lowered it already, below 0 and back.
            self.signalled.fetch_add(1, Ordering::Relaxed);
        }
        self.latch.release();
        if let Some((word, state::SLEEPING)) = signalled {
            park::wake(word, 1);
        }
    }

    #[cold]
    fn release_all(&self) {
        let (mut at_once, mut in_line) = (Chain::default(), Chain::default());
        let mut mutex = None;
        self.enter();
        // SAFETY: the latch is held; all nodes in the list are alive, and one that is queued stays until it is woken.
        unsafe {
            self.list.each(|node, place| {
                if node.resolve(state::QUEUED).is_ok() {
                    self.list.remove(place);
                    let waits_its_turn =
                        node.priority() == 0 && *mutex.get_or_insert(node.mutex()) == node.mutex();
                    if waits_its_turn { in_line.add(node) } else { at_once.add(node) }
                }
                Seen::More
            });
        }
        self.latch.release();
        // SAFETY: queued by us, so that nobody else wakes them.
        unsafe {
            at_once.wake_all();
            in_line.wake_first();
        }
    }
}

/// Waits a moment for others to leave: rare, and short unless the caller made a mistake, so nobody is asked to wake it.
fn pause(word: &AtomicU32, value: u32) {
    if cfg!(any(loom, shuttle)) {
        hint::spin_loop();
    } else {
        park::wait(word, value, Some(Until::after(Duration::from_millis(1))));
    }
}

/// Sees to it that a thread leaves, even if it panics.
struct Stay<'a> {
    condition: &'a Condition,
    node: &'a Node,
}

impl Stay<'_> {
    fn leave(self) -> Left {
        // SAFETY: whoever makes a `Stay` has enqueued the node; it does not leave twice, as `self` is forgotten.
        let left = unsafe { self.condition.leave(self.node, Leaving::Returns) };
        core::mem::forget(self);
        left
    }
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        // SAFETY: as above: it has not left, and passes on once.
        unsafe {
            self.condition.leave(self.node, Leaving::Cancelled);
            self.node.pass_on();
        }
    }
}
