//! Strict FIFO: an owner that finds waiters hands the lock to the first of them, and waiters sleep at once. This is the
//! "before" behaviour of Rostedt 2008: each hand-off costs a wake-up, during which the lock is idle.

use crate::backoff::Backoff;
use crate::host;
use crate::park::{self, Wake};
use crate::raw::free;
use crate::{RawLock, Until, Waited};
use core::ptr::{NonNull, null_mut};
use unspin_sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// A lock that is handed from owner to waiter in order of arrival.
#[derive(Debug)]
pub struct Fair {
    state: AtomicU64,
    /// The last waiter of a ring: its `next` is the first. Valid only if `QUEUED` is set. Changed only in a
    /// [`QueueSection`].
    tail: AtomicPtr<Node>,
}

/// A thread holds the lock. Set by the thread that acquires; cleared by `unlock` if the queue is empty.
const LOCKED: u64 = 1;
/// A thread is in a [`QueueSection`], and no other thread changes the state.
const BUSY: u64 = 1 << 1;
/// The queue is not empty. Then the lock is held.
const QUEUED: u64 = 1 << 2;
/// Shift of the highest field: the generation of the process that was last in a section. If it is another generation,
/// `BUSY` will never be cleared by the thread that set it, and the queued threads do not exist in this process.
const GENERATION_AT: u32 = 32;

/// A waiter of [`Fair`].
#[derive(Debug)]
pub struct Node {
    granted: AtomicU32,
    next: AtomicPtr<Node>,
    previous: AtomicPtr<Node>,
}

impl Default for Node {
    fn default() -> Node {
        Node {
            granted: AtomicU32::new(0),
            next: AtomicPtr::new(null_mut()),
            previous: AtomicPtr::new(null_mut()),
        }
    }
}

// SAFETY: 1. the thread that sets LOCKED holds the lock, and after a hand-off the thread that the owner grants it to;
// 2. a free lock is all zeroes.
unsafe impl RawLock for Fair {
    type Node = Node;

    free!(Fair { state: AtomicU64::new(0), tail: AtomicPtr::new(null_mut()) });

    #[inline(always)]
    fn try_lock(&self) -> bool {
        // Relaxed: the compare-exchange provides the ordering.
        let state = self.state.load(Ordering::Relaxed);
        if state & (LOCKED | BUSY) != 0 {
            return state & LOCKED == 0 && self.try_in_section();
        }
        // Acquire: partner of the Release in `unlock`. Relaxed on failure: a failed attempt reads nothing.
        self.state.compare_exchange(state, state | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline(always)]
    fn lock(&self, node: &mut Node) -> Waited {
        if self.try_lock() {
            return Waited::No;
        }
        self.wait_in_queue(node, None).expect("without a time there is no timeout")
    }

    fn lock_until(&self, node: &mut Node, until: Until) -> Option<Waited> {
        if self.try_lock() { Some(Waited::No) } else { self.wait_in_queue(node, Some(until)) }
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        // Relaxed: the compare-exchange provides the ordering.
        let state = self.state.load(Ordering::Relaxed);
        // Release: partner of the Acquire in `try_lock` and `enter_section`. Relaxed on failure: `hand_off` reads the
        // state again.
        let alone = state & (LOCKED | BUSY | QUEUED) == LOCKED
            && self
                .state
                .compare_exchange(state, state & !LOCKED, Ordering::Release, Ordering::Relaxed)
                .is_ok();
        if !alone {
            self.hand_off();
        }
    }

    fn is_locked(&self) -> bool {
        // Relaxed: a snapshot, which orders nothing.
        self.state.load(Ordering::Relaxed) & LOCKED != 0
    }
}

impl Fair {
    /// Acquires while `BUSY` is set: another thread changes the state of a free lock, or did so when the process
    /// forked.
    #[cold]
    fn try_in_section(&self) -> bool {
        let mut section = self.enter_section();
        let was_free = section.state & LOCKED == 0;
        section.state |= LOCKED;
        section.leave();
        was_free
    }

    #[cold]
    fn wait_in_queue(&self, node: &mut Node, until: Option<Until>) -> Option<Waited> {
        *node = Node::default();
        let node = NonNull::from(&*node);
        let mut section = self.enter_section();
        if section.state & LOCKED == 0 {
            section.state |= LOCKED;
            section.leave();
            return Some(Waited::Spun);
        }
        section.append(node);
        section.leave();
        // SAFETY: the caller owns the node.
        let granted = unsafe { &node.as_ref().granted };
        // Acquire: partner of the Release in `hand_off`.
        while granted.load(Ordering::Acquire) == 0 {
            if park::wait(granted, 0, until) == Wake::TimedOut && self.withdraw(node) {
                return None;
            }
        }
        Some(Waited::Slept)
    }

    /// Removes a waiter from the queue. Returns false if the waiter owns the lock by now.
    fn withdraw(&self, node: NonNull<Node>) -> bool {
        let mut section = self.enter_section();
        // SAFETY: the caller owns the node. Relaxed: a grant happens only in a section, which we are in;
        // `wait_in_queue` reads it again.
        let waits = unsafe { node.as_ref() }.granted.load(Ordering::Relaxed) == 0;
        if waits {
            section.remove(node);
        }
        section.leave();
        waits
    }

    #[cold]
    fn hand_off(&self) {
        // Relaxed: a release by a thread that does not hold the lock may miss a concurrent acquisition or release.
        if self.state.load(Ordering::Relaxed) & LOCKED == 0 {
            return;
        }
        let mut section = self.enter_section();
        let Some(first) = section.first() else {
            section.state &= !LOCKED;
            return section.leave();
        };
        section.remove(first);
        // SAFETY: a queued node lives until it is granted the lock or removes itself, and removal needs a section.
        let granted = unsafe { &first.as_ref().granted };
        let address = core::ptr::from_ref(granted);
        // Release: partner of the Acquire in `wait_in_queue`.
        granted.store(1, Ordering::Release);
        section.leave();
        park::wake(address, 1);
    }

    fn enter_section(&self) -> QueueSection<'_> {
        let here = u64::from(host::generation()) << GENERATION_AT;
        let mut backoff = Backoff::default();
        loop {
            // Relaxed: the compare-exchange provides the ordering.
            let seen = self.state.load(Ordering::Relaxed);
            let ours = seen >> GENERATION_AT << GENERATION_AT == here;
            let state = if ours { seen } else { seen & LOCKED | here };
            let entered = state & BUSY == 0
                // Acquire: partner of the Release in `leave` and in `unlock`. Relaxed on failure: the loop reads the
                // state again.
                && self
                    .state
                    .compare_exchange(seen, state | BUSY, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok();
            if entered {
                return QueueSection { fair: self, state };
            }
            backoff.pause();
        }
    }
}

/// Exclusive right to change queue and state, for a few instructions. Ends with [`QueueSection::leave`].
struct QueueSection<'a> {
    fair: &'a Fair,
    /// The state that `leave` stores.
    state: u64,
}

impl QueueSection<'_> {
    fn leave(self) {
        // Release: partner of the Acquire in `enter_section`, and in `try_lock`.
        self.fair.state.store(self.state, Ordering::Release);
    }

    fn first(&self) -> Option<NonNull<Node>> {
        if self.state & QUEUED == 0 {
            return None;
        }
        // SAFETY: the queue is not empty, so there is a last node, and it still waits. Relaxed, here and below: the
        // section provides the ordering.
        let last = unsafe { &*self.fair.tail.load(Ordering::Relaxed) };
        NonNull::new(last.next.load(Ordering::Relaxed))
    }

    fn append(&mut self, node: NonNull<Node>) {
        let first = self.first().unwrap_or(node);
        let last = if first == node { node.as_ptr() } else { self.fair.tail.load(Ordering::Relaxed) };
        // SAFETY: the caller owns `node`, and the other nodes are queued.
        unsafe {
            node.as_ref().next.store(first.as_ptr(), Ordering::Relaxed);
            node.as_ref().previous.store(last, Ordering::Relaxed);
            first.as_ref().previous.store(node.as_ptr(), Ordering::Relaxed);
            (*last).next.store(node.as_ptr(), Ordering::Relaxed);
        }
        self.fair.tail.store(node.as_ptr(), Ordering::Relaxed);
        self.state |= QUEUED;
    }

    fn remove(&mut self, node: NonNull<Node>) {
        // SAFETY: `node` is queued, and so are its neighbours.
        let (previous, next) = unsafe {
            let node = node.as_ref();
            let previous = node.previous.load(Ordering::Relaxed);
            let next = node.next.load(Ordering::Relaxed);
            (*previous).next.store(next, Ordering::Relaxed);
            (*next).previous.store(previous, Ordering::Relaxed);
            (previous, next)
        };
        if next == node.as_ptr() {
            self.state &= !QUEUED;
        } else if self.fair.tail.load(Ordering::Relaxed) == node.as_ptr() {
            self.fair.tail.store(previous, Ordering::Relaxed);
        }
    }
}
