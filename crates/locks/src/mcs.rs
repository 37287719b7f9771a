//! The queue of Mellor-Crummey and Scott, in the variant K42 whose owner keeps no node: FIFO, each waiter spinning on a word
//! of its own. For study: whoever is next must be on a CPU, and all the others burn theirs.
//!
//! (M. Scott, "Shared-Memory Synchronization", 4.3.1; the lock itself takes the part of the owner's node.)
//!
//! A thread that waits until some time does not queue: it takes the lock when it sees it free, out of turn.

use crate::host;
use crate::raw::{free, poll};
use crate::{RawLock, Until, Waited};
use core::ptr;
use unspin_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use unspin_sync::hint;

/// See the module.
#[derive(Debug)]
pub struct Mcs {
    /// [`FREE`], [`HELD`] without a waiter, or a [`Link`] to the last waiter.
    tail: AtomicUsize,
    /// A [`Link`] to the first waiter, once that one has said who it is. 0, or of another generation: not yet.
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

/// Address of a node, and in the 16 bits above it the generation of the process in which it waits: a fork leaves nodes
/// behind that nobody waits on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Link(usize);

const ADDRESS_BITS: u32 = 48;

impl Link {
    /// None for an address that is too long, which a program has only if it asks for one (5-level page tables).
    fn to(node: &Node) -> Option<Link> {
        let address = ptr::from_ref(node).expose_provenance();
        (address >> ADDRESS_BITS == 0).then_some(Link(address | Link::here()))
    }

    /// The tag of the calling process.
    fn here() -> usize {
        (host::generation() as usize) << ADDRESS_BITS
    }

    /// None for what is no link, or leads to what does not exist in this process.
    fn of(word: usize) -> Option<Link> {
        (word > HELD && word >> ADDRESS_BITS == Link::here() >> ADDRESS_BITS).then_some(Link(word))
    }

    /// # Safety
    /// The node still waits.
    unsafe fn node<'a>(self) -> &'a Node {
        let address = self.0 & ((1 << ADDRESS_BITS) - 1);
        // SAFETY: links are made of live nodes, and the caller says that this one lives still.
        unsafe { &*ptr::with_exposed_provenance::<Node>(address) }
    }
}

// SAFETY: 1. whoever moves the tail from FREE holds it, and then whoever is granted it by the owner; 2. a free one is 0.
unsafe impl RawLock for Mcs {
    type Node = Node;

    free!(Mcs { tail: AtomicUsize::new(FREE), next: AtomicUsize::new(0) });

    #[inline(always)]
    fn try_lock(&self) -> bool {
        // Acquire: partner of the Release in `unlock`.
        // Relaxed: a failure tells nothing.
        self.tail.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline(always)]
    fn lock(&self, node: &mut Node) -> Waited {
        if self.try_lock() { Waited::No } else { self.queue(node) }
    }

    fn lock_until(&self, _: &mut Node, until: Until) -> Option<Waited> {
        if self.try_lock() {
            return Some(Waited::No);
        }
        poll(self, Some(until))
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        // Relaxed: if nobody has come the exchange succeeds, and if it fails `release` looks again.
        let nobody = Link::of(self.next.load(Ordering::Relaxed)).is_none();
        // Release: partner of the Acquire in `try_lock`.
        if !(nobody && self.tail.compare_exchange(HELD, FREE, Ordering::Release, Ordering::Relaxed).is_ok()) {
            self.release();
        }
    }

    fn is_locked(&self) -> bool {
        // Relaxed: a glance.
        self.tail.load(Ordering::Relaxed) != FREE
    }
}

impl Mcs {
    #[cold]
    fn queue(&self, node: &mut Node) -> Waited {
        *node = Node::default();
        let node = &*node;
        let Some(me) = Link::to(node) else {
            return poll(self, None).expect("without a time there is no timeout");
        };
        loop {
            // Relaxed: the exchange orders.
            let last = self.tail.load(Ordering::Relaxed);
            if last == FREE {
                if self.try_lock() {
                    return Waited::Spun;
                }
                continue;
            }
            // Release: partner of the Acquire here by whoever comes next, who writes into our node.
            if self.tail.compare_exchange(last, me.0, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                continue;
            }
            let before = match Link::of(last) {
                // SAFETY: it was the last in the queue, so it stays there until it has seen us behind it.
                Some(last) => unsafe { &last.node().next },
                None => &self.next,
            };
            // Release: partner of the Acquire with which the owner takes us from there.
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

    /// The owner moves what its node says of its successor into the lock.
    fn leave_node(&self, node: &Node, me: Link) {
        // Acquire: partner of the Release in `queue` by the successor.
        let mut next = node.next.load(Ordering::Acquire);
        if next == 0 {
            // Relaxed: published by the exchange.
            self.next.store(0, Ordering::Relaxed);
            // Release: partner of the Acquire in `queue` of whoever finds the lock held and writes `next`.
            if self.tail.compare_exchange(me.0, HELD, Ordering::Release, Ordering::Relaxed).is_ok() {
                return;
            }
            while next == 0 {
                hint::spin_loop();
                // Acquire: as above.
                next = node.next.load(Ordering::Acquire);
            }
        }
        // Release: partner of the Acquire in `release`, for a stranger who releases.
        self.next.store(next, Ordering::Release);
    }

    #[cold]
    fn release(&self) {
        loop {
            // Acquire: partner of the Release in `queue`: the node is there.
            let next = self.next.load(Ordering::Acquire);
            if let Some(first) = Link::of(next) {
                // By exchange, so that of two threads that release only one hands over.
                // Relaxed: nothing is published by taking it out.
                if self.next.compare_exchange(next, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                    // SAFETY: it is in the queue until it is granted the lock.
                    let granted = unsafe { &first.node().granted };
                    // Release: partner of the Acquire in `queue`.
                    return granted.store(1, Ordering::Release);
                }
                continue;
            }
            // Release: as in `unlock`. Relaxed: a failure is looked at below.
            match self.tail.compare_exchange(HELD, FREE, Ordering::Release, Ordering::Relaxed) {
                Ok(_) | Err(FREE) => return,
                // Somebody is about to say who it is.
                Err(last) if Link::of(last).is_some() => hint::spin_loop(),
                Err(ghosts) => {
                    // Release: as in `unlock`. Relaxed: a failure is looked at in the next round.
                    if self.tail.compare_exchange(ghosts, FREE, Ordering::Release, Ordering::Relaxed).is_ok()
                    {
                        return;
                    }
                }
            }
        }
    }
}
