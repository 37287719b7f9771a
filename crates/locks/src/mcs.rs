//! MCS queue lock (Mellor-Crummey and Scott) in the K42 variant, whose owner keeps no node: FIFO, each waiter spins on
//! its own word. Experimental: the next waiter must be on a CPU while all others keep their CPUs busy.
//!
//! Source: M. Scott, "Shared-Memory Synchronization", 4.3.1. The lock itself plays the part of the owner's node.
//!
//! A wait with a timeout does not queue: the thread takes the lock out of turn when it sees it free.

use crate::host;
use crate::raw::{free, poll};
use crate::{RawLock, Until, Waited};
use core::ptr;
use unspin_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use unspin_sync::hint;

/// An MCS queue lock.
#[derive(Debug)]
pub struct Mcs {
    /// [`FREE`], [`HELD`] without a waiter, or a [`Link`] to the last waiter.
    tail: AtomicUsize,
    /// A [`Link`] to the first waiter, once that waiter has linked itself. 0 or a link of another generation: no waiter
    /// yet.
    next: AtomicUsize,
}

const FREE: usize = 0;
const HELD: usize = 1;

/// A waiter of [`Mcs`].
#[derive(Debug)]
pub struct Node {
    granted: AtomicU32,
    next: AtomicUsize,
}

impl Default for Node {
    fn default() -> Node {
        Node { granted: AtomicU32::new(0), next: AtomicUsize::new(0) }
    }
}

/// Address of a node; the 16 bits above it hold the generation of the process in which the node waits. After a fork the
/// child inherits links to nodes whose threads do not exist there; the generation reveals them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Link(usize);

const ADDRESS_BITS: u32 = 48;

impl Link {
    /// None if the address has more than 48 bits. A program has such addresses only if it asks for them (5-level page
    /// tables).
    fn to(node: &Node) -> Option<Link> {
        let address = ptr::from_ref(node).expose_provenance();
        (address >> ADDRESS_BITS == 0).then_some(Link(address | Link::here()))
    }

    /// The generation tag of the calling process.
    fn here() -> usize {
        (host::generation() as usize) << ADDRESS_BITS
    }

    /// None if the word is no link, or if its node does not exist in this process.
    fn of(word: usize) -> Option<Link> {
        (word > HELD && word >> ADDRESS_BITS == Link::here() >> ADDRESS_BITS).then_some(Link(word))
    }

    /// # Safety
    /// The node still waits.
    unsafe fn node<'a>(self) -> &'a Node {
        let address = self.0 & ((1 << ADDRESS_BITS) - 1);
        // SAFETY: links are made from live nodes, and the caller guarantees that this one is still alive.
        unsafe { &*ptr::with_exposed_provenance::<Node>(address) }
    }
}

// SAFETY: 1. the thread that moves the tail from FREE holds the lock, and after a hand-off the thread that the owner
// grants it to; 2. a free lock is 0.
unsafe impl RawLock for Mcs {
    type Node = Node;

    free!(Mcs { tail: AtomicUsize::new(FREE), next: AtomicUsize::new(0) });

    #[inline(always)]
    fn try_lock(&self) -> bool {
        // Acquire: partner of the Release in `unlock`.
        // Relaxed on failure: a failed attempt reads nothing.
        self.tail.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline(always)]
    fn lock(&self, node: &mut Node) -> Waited {
        if self.try_lock() { Waited::No } else { self.wait_in_queue(node) }
    }

    fn lock_until(&self, _: &mut Node, until: Until) -> Option<Waited> {
        if self.try_lock() {
            return Some(Waited::No);
        }
        poll(self, Some(until))
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        // Relaxed: without a waiter the exchange succeeds. If the exchange fails, `release` reads again.
        let no_successor = Link::of(self.next.load(Ordering::Relaxed)).is_none();
        // Release: partner of the Acquire in `try_lock`.
        if !(no_successor
            && self.tail.compare_exchange(HELD, FREE, Ordering::Release, Ordering::Relaxed).is_ok())
        {
            self.release();
        }
    }

    fn is_locked(&self) -> bool {
        // Relaxed: a snapshot, which orders nothing.
        self.tail.load(Ordering::Relaxed) != FREE
    }
}

impl Mcs {
    #[cold]
    fn wait_in_queue(&self, node: &mut Node) -> Waited {
        *node = Node::default();
        let node = &*node;
        let Some(me) = Link::to(node) else {
            return poll(self, None).expect("without a time there is no timeout");
        };
        loop {
            // Relaxed: the compare-exchange provides the ordering.
            let last = self.tail.load(Ordering::Relaxed);
            if last == FREE {
                if self.try_lock() {
                    return Waited::Spun;
                }
                continue;
            }
            // Release: partner of the Acquire here by the next waiter, which writes into our node. Acquire: partner of
            // that Release, as we write into the previous waiter's node. Relaxed on failure: the loop reads the tail
            // again.
            if self.tail.compare_exchange(last, me.0, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                continue;
            }
            let before = match Link::of(last) {
                // SAFETY: that node was the last in the queue, so it stays there until its thread has seen us behind
                // it.
                Some(last) => unsafe { &last.node().next },
                None => &self.next,
            };
            // Release: partner of the Acquire with which the owner reads the link.
            before.store(me.0, Ordering::Release);
            break;
        }
        // Acquire: partner of the Release in `release`.
        while node.granted.load(Ordering::Acquire) == 0 {
            hint::spin_loop();
        }
        self.leave_node(node, me);
        Waited::Spun
    }

    /// The new owner copies the link to its successor from its node into the lock.
    fn leave_node(&self, node: &Node, me: Link) {
        // Acquire: partner of the Release in `wait_in_queue` by the successor.
        let mut next = node.next.load(Ordering::Acquire);
        if next == 0 {
            // Relaxed: published by the exchange below.
            self.next.store(0, Ordering::Relaxed);
            // Release: partner of the Acquire in `wait_in_queue`, by the next thread that finds the lock held and
            // writes `next`.
            if self.tail.compare_exchange(me.0, HELD, Ordering::Release, Ordering::Relaxed).is_ok() {
                return;
            }
            while next == 0 {
                hint::spin_loop();
                // Acquire: as above.
                next = node.next.load(Ordering::Acquire);
            }
        }
        // Release: partner of the Acquire in `release`, if another thread than this one releases the lock.
        self.next.store(next, Ordering::Release);
    }

    #[cold]
    fn release(&self) {
        loop {
            // Acquire: partner of the Release in `wait_in_queue`: the node's contents are visible.
            let next = self.next.load(Ordering::Acquire);
            if let Some(first) = Link::of(next) {
                // An exchange, so that only one of two threads that release at once hands the lock over. Relaxed:
                // removing the link publishes nothing.
                if self.next.compare_exchange(next, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                    // SAFETY: the node is in the queue until it is granted the lock.
                    let granted = unsafe { &first.node().granted };
                    // Release: partner of the Acquire in `wait_in_queue`.
                    return granted.store(1, Ordering::Release);
                }
                continue;
            }
            // Release: as in `unlock`. Relaxed on failure: the arms below examine the value read.
            match self.tail.compare_exchange(HELD, FREE, Ordering::Release, Ordering::Relaxed) {
                Ok(_) | Err(FREE) => return,
                // A waiter has moved the tail and is about to link itself.
                Err(last) if Link::of(last).is_some() => hint::spin_loop(),
                Err(ghosts) => {
                    // Release: as in `unlock`. Relaxed on failure: the next round reads again.
                    if self.tail.compare_exchange(ghosts, FREE, Ordering::Release, Ordering::Relaxed).is_ok()
                    {
                        return;
                    }
                }
            }
        }
    }
}
