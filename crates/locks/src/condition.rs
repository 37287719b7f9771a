//! A condition variable that works with any lock.
//!
//! Waiters are in a list: real-time threads first, by priority, then all others by arrival. A signal removes exactly
//! one waiter that waited before the signal. A later waiter cannot consume the signal, no signal is lost, and no thread
//! is woken in vain. A broadcast removes all waiters. It wakes the real-time threads and the first of the others; each
//! of the others wakes the next one after it has acquired the mutex again ([`Node::pass_on`]). So a broadcast does not
//! send many threads to a mutex that only one can have. (Waiting with several mutexes is a program error; waiters whose
//! mutex is not that of the first one are woken at once.) A thread that cannot expect the mutex soon should call
//! `pass_on` before it acquires: otherwise each waiter of the chain waits anew while other threads steal the mutex, and
//! the last one waits for all of them.
//!
//! A wait consists of steps, so that a caller can act between them, for instance sleep in a cancellation point.
//! [`Condition::wait`] does all of them:
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
//! **Who may touch the condition when.** A waiter that a broadcast removed no longer touches the condition. A waiter
//! that a signal removed touches it once more, in `leave`; so does a waiter that removes itself. [`Condition::retire`]
//! waits for these waiters; after it the memory may be reused.
//!
//! **Objects.** One `Condition` can serve several objects of a program: a waiter names its object
//! ([`Node::for_object`]), and [`signal_for`](Condition::signal_for) and
//! [`broadcast_for`](Condition::broadcast_for) reach the waiters of one object. Without that the object is 0.
//!
//! **After fork()** the list of a child names threads that do not exist there. Their nodes lie on stacks whose memory
//! the child reuses, so the child must not even read them: the first thread of the child that uses the condition
//! empties the list. glibc's condition variable gives the child's signals to the waiters of its parent, and hangs when
//! it is destroyed; this one does neither.
//!
//! Lock order: the latch is the innermost lock. It is held for a few writes and never over a system call.

mod latch;
mod list;
#[cfg(all(test, loom))]
pub(crate) mod models;
mod node;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use crate::park::{self, Wake};
use crate::{Until, host};
use core::time::Duration;
use latch::Latch;
use list::{Chain, List, VisitNext};
use node::state;
use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sync::hint;

pub use node::Node;

/// A condition variable that works with any lock. All zeroes: no waiters.
#[repr(C)]
#[derive(Default, Debug)]
pub struct Condition {
    latch: Latch,
    /// Generation of the process that the threads in `list` and `signalled` belong to. Protected by the latch.
    generation: AtomicU32,
    /// Protected by the latch.
    list: List,
    /// Number of waiters that a signal removed and that have not left yet. Incremented under the latch; decremented by
    /// the waiter.
    signalled: AtomicU32,
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitEnd {
    /// By a signal or a broadcast.
    Signalled,
    /// The timeout passed first.
    TimedOut,
}

/// What a waiter finds when it leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaveResult {
    /// A signal or a broadcast had removed it.
    Signalled,
    /// It had not been removed, and has removed itself.
    Unsignalled,
}

/// Why a thread leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaveReason {
    /// It was woken, or its timeout has passed. It keeps a signal that it was given.
    Returns,
    /// It was cancelled. A signal that it was given goes to another waiter.
    Cancelled,
}

impl Condition {
    /// A condition without waiters.
    #[cfg(not(any(loom, shuttle)))]
    #[expect(clippy::declare_interior_mutable_const, reason = "a value to begin with, as in lock_api")]
    // SAFETY: the fields are atomic integers and pointers, for all of which zero is a value.
    pub const NEW: Condition = unsafe { core::mem::zeroed() };

    /// Waits for a signal or broadcast, or until `until`. Calls `unlock` once every later signal will be noticed, and
    /// returns after `lock` has acquired the mutex again. `priority` is the calling thread's real-time priority; 0 if
    /// it has none.
    pub fn wait(
        &self,
        priority: u32,
        until: Option<Until>,
        unlock: impl FnOnce(),
        lock: impl FnOnce(),
    ) -> WaitEnd {
        let node = Node::new(priority);
        // SAFETY: `stay` calls `leave`, and `pass_on` if a closure panics; otherwise `pass_on` is called below.
        unsafe { self.enqueue(&node) };
        let stay = LeaveGuard { condition: self, node: &node };
        unlock();
        while let Some(state) = node.must_sleep_on().filter(|_| !node.is_stranded()) {
            if park::wait(node.word(), state, until) == Wake::TimedOut {
                break;
            }
        }
        let left = stay.leave();
        lock();
        // SAFETY: `stay` has left, and this is the only call for the node.
        unsafe { node.pass_on() };
        match left {
            LeaveResult::Signalled => WaitEnd::Signalled,
            LeaveResult::Unsignalled if node.is_stranded() => WaitEnd::Signalled,
            LeaveResult::Unsignalled => WaitEnd::TimedOut,
        }
    }

    /// Adds the calling thread to the waiters. It may get every signal from now on.
    ///
    /// # Safety
    /// The node is new. It neither moves nor is freed before [`leave`](Self::leave) and then [`Node::pass_on`] have
    /// returned.
    pub unsafe fn enqueue(&self, node: &Node) {
        self.acquire_latch();
        // SAFETY: the latch is held; all nodes in the list are alive, as the callers of `enqueue` guarantee.
        unsafe { self.list.add(node) };
        self.latch.release();
    }

    /// Removes the node if it is still in the list; otherwise completes the wake-up that it was given. A waiter that a
    /// broadcast queued sleeps here until its turn has come, which is when the waiter before it has acquired the mutex.
    ///
    /// # Safety
    /// The node is enqueued in this condition, and has not left.
    pub unsafe fn leave(&self, node: &Node, leaving: LeaveReason) -> LeaveResult {
        match node.resolve(state::LEAVING) {
            Ok(_) => {
                self.remove_from_list(node);
                LeaveResult::Unsignalled
            }
            Err(state::SIGNALLED) => {
                if leaving == LeaveReason::Cancelled {
                    self.signal_for(node.object());
                }
                self.confirm_left(node);
                LeaveResult::Signalled
            }
            Err(_) => {
                while let Some(state) = node.must_sleep_on().filter(|_| !node.is_stranded()) {
                    park::wait(node.word(), state, None);
                }
                LeaveResult::Signalled
            }
        }
    }

    /// Whether a thread waits for this object, as far as the caller can tell: other threads may come and go.
    pub fn has_waiters_for(&self, object: usize) -> bool {
        let mut found = false;
        if !self.list.is_empty() {
            self.acquire_latch();
            // SAFETY: the latch is held; all nodes in the list are alive.
            found = unsafe { self.list.has(object) };
            self.latch.release();
        }
        found
    }

    /// Wakes one waiter.
    #[inline]
    pub fn signal(&self) {
        self.signal_for(0);
    }

    /// Wakes all waiters.
    #[inline]
    pub fn broadcast(&self) {
        self.broadcast_for(0);
    }

    /// Wakes one waiter of this object.
    #[inline]
    pub fn signal_for(&self, object: usize) {
        // A thread that began to wait before the caller last acquired the mutex is seen: it was in the list when it
        // released the mutex.
        if !self.list.is_empty() {
            self.signal_one(object);
        }
    }

    /// Wakes all waiters of this object.
    #[inline]
    pub fn broadcast_for(&self, object: usize) {
        // As in `signal_for`.
        if !self.list.is_empty() {
            self.release_all(object);
        }
    }

    /// Wakes the waiters of all objects at once. A thread that enqueues later sees what the caller has written before.
    pub fn wake_everyone(&self) {
        let mut everyone = Chain::default();
        self.acquire_latch();
        // SAFETY: the latch is held; all nodes in the list are alive, and a `QUEUED` node lives until it is woken.
        unsafe {
            self.list.each_of_all(|node, position| {
                if node.resolve(state::QUEUED).is_ok() {
                    self.list.remove(position);
                    everyone.add(node);
                }
            });
        }
        self.latch.release();
        // SAFETY: we queued these nodes, so no other thread wakes them.
        unsafe { everyone.wake_all() };
    }

    /// Returns when no thread waits for this object. As with [`retire`](Self::retire), threads that wait on are the
    /// caller's error. Woken threads touch this `Condition` later, but nothing of the object.
    pub fn retire_object(&self, object: usize) {
        while self.has_waiters_for(object) {
            // Relaxed: only compared by the kernel.
            pause_while(&self.signalled, self.signalled.load(Ordering::Relaxed));
        }
    }

    /// Returns when there are no waiters and every woken thread has left; after that no thread touches the condition.
    /// Destroying a condition with waiters is a program error; this function then waits for them, as glibc does.
    pub fn retire(&self) {
        loop {
            self.acquire_latch();
            let waits = !self.list.is_empty();
            // Acquire: partner of the Release in `confirm`: the counted threads have left.
            let signalled = self.signalled.load(Ordering::Acquire);
            self.latch.release();
            if !waits && signalled == 0 {
                return;
            }
            pause_while(&self.signalled, signalled);
        }
    }

    /// Acquires the latch. In a child, first removes the waiters of the parent process.
    fn acquire_latch(&self) {
        let here = host::generation();
        self.latch.acquire(here);
        // Relaxed, here and below: protected by the latch.
        if self.generation.load(Ordering::Relaxed) != here {
            self.generation.store(here, Ordering::Relaxed);
            self.list.clear();
            self.signalled.store(0, Ordering::Relaxed);
        }
    }

    /// Removes a node whose thread leaves.
    #[cold]
    fn remove_from_list(&self, node: &Node) {
        self.acquire_latch();
        if !node.is_stranded() {
            // SAFETY: the latch is held. Only its own thread removes a node that is `LEAVING`, so the node is in the
            // list, unless the list was emptied after a fork, which `is_stranded` excludes.
            unsafe { self.list.remove(self.list.position(node)) };
        }
        self.latch.release();
    }

    /// Reports that a thread that a signal removed does not touch the condition any more.
    fn confirm_left(&self, node: &Node) {
        if !node.is_stranded() {
            // Release: partner of the Acquire in `retire`.
            self.signalled.fetch_sub(1, Ordering::Release);
        }
    }

    #[cold]
    fn signal_one(&self, object: usize) {
        let mut signalled = None;
        self.acquire_latch();
        // SAFETY: the latch is held; all nodes in the list are alive. A node may be freed as soon as its state has
        // changed, hence it is removed without being touched, and woken by its address.
        unsafe {
            self.list.each(object, |node, position| {
                let word = core::ptr::from_ref(node.word());
                let Ok(before) = node.resolve(state::SIGNALLED) else { return VisitNext::Continue };
                self.list.remove(position);
                signalled = Some((word, before));
                VisitNext::Stop
            });
        }
        if signalled.is_some() {
            // Relaxed: a reader has the latch after us. The waiter may have decremented it already, below 0 for a
            // moment.
            self.signalled.fetch_add(1, Ordering::Relaxed);
        }
        self.latch.release();
        if let Some((word, state::SLEEPING)) = signalled {
            park::wake(word, 1);
        }
    }

    #[cold]
    fn release_all(&self, object: usize) {
        let (mut at_once, mut in_line) = (Chain::default(), Chain::default());
        let mut mutex = None;
        self.acquire_latch();
        // SAFETY: the latch is held; all nodes in the list are alive, and a `QUEUED` node lives until it is woken.
        unsafe {
            self.list.each(object, |node, position| {
                if node.resolve(state::QUEUED).is_ok() {
                    self.list.remove(position);
                    let waits_its_turn =
                        node.priority() == 0 && *mutex.get_or_insert(node.mutex()) == node.mutex();
                    if waits_its_turn { in_line.add(node) } else { at_once.add(node) }
                }
                VisitNext::Continue
            });
        }
        self.latch.release();
        // SAFETY: we queued these nodes, so no other thread wakes them.
        unsafe {
            at_once.wake_all();
            in_line.wake_first();
        }
    }
}

/// Waits a moment for waiters to leave. This is rare, and short unless the caller made a mistake, so there is no
/// wake-up for it.
fn pause_while(word: &AtomicU32, value: u32) {
    if cfg!(any(loom, shuttle)) {
        hint::spin_loop();
    } else {
        park::wait(word, value, Some(Until::after(Duration::from_millis(1))));
    }
}

/// Makes sure that a thread leaves the condition even if it panics.
struct LeaveGuard<'a> {
    condition: &'a Condition,
    node: &'a Node,
}

impl LeaveGuard<'_> {
    fn leave(self) -> LeaveResult {
        // SAFETY: the creator of a `LeaveGuard` has enqueued the node; it does not leave twice, because `self` is
        // forgotten.
        let left = unsafe { self.condition.leave(self.node, LeaveReason::Returns) };
        core::mem::forget(self);
        left
    }
}

impl Drop for LeaveGuard<'_> {
    fn drop(&mut self) {
        // SAFETY: as above: the node has not left, and `pass_on` is called only here.
        unsafe {
            self.condition.leave(self.node, LeaveReason::Cancelled);
            self.node.pass_on();
        }
    }
}
