//! The waiters: a ring of nodes, by priority and then by arrival.
//!
//! The condition's latch protects all links of the ring. The links of a chain belong to the one thread that may wake
//! its next member. Hence all accesses are Relaxed. They are atomic only so that a mistake leads to a wrong order
//! instead of undefined behaviour.

use super::node::Node;
use core::ptr::null_mut;
use unspin_sync::atomic::AtomicPtr;
use unspin_sync::atomic::Ordering::Relaxed;

/// The neighbours of a node.
#[derive(Debug)]
pub(super) struct ListLinks {
    /// In the ring: the next node; for the last node the first. In a chain: the next node, or null.
    next: AtomicPtr<Node>,
    previous: AtomicPtr<Node>,
}

impl Default for ListLinks {
    fn default() -> ListLinks {
        ListLinks { next: AtomicPtr::new(null_mut()), previous: AtomicPtr::new(null_mut()) }
    }
}

impl ListLinks {
    /// The next node of the chain.
    ///
    /// # Safety
    /// The node is in a chain, and the later members are alive.
    pub(super) unsafe fn next_in_chain<'a>(&self) -> Option<&'a Node> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.next.load(Relaxed).as_ref() }
    }

    /// Makes the node the last of its chain.
    fn end_chain(&self) {
        self.next.store(null_mut(), Relaxed);
    }
}

/// The ring, by its last node.
#[derive(Debug)]
pub(super) struct List {
    last: AtomicPtr<Node>,
}

/// A node and its neighbours in the ring: enough to remove it when its memory may be gone already.
#[derive(Clone, Copy)]
pub(super) struct RingPosition {
    node: *mut Node,
    previous: *mut Node,
    next: *mut Node,
}

impl Default for List {
    fn default() -> List {
        List { last: AtomicPtr::new(null_mut()) }
    }
}

impl List {
    /// A snapshot without the latch; exact with it.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.last.load(Relaxed).is_null()
    }

    /// Removes all nodes without touching them.
    pub(super) fn clear(&self) {
        self.last.store(null_mut(), Relaxed);
    }

    /// Inserts a node after the nodes of its own or a higher priority.
    ///
    /// # Safety
    /// For this and all functions below: the caller holds the latch, the nodes in the ring are alive, and this node
    /// lives until it has been removed.
    pub(super) unsafe fn add(&self, node: &Node) {
        let new = core::ptr::from_ref(node).cast_mut();
        let last = self.last.load(Relaxed);
        // SAFETY: alive, as the caller guarantees, as are all nodes reached from it.
        let Some(tail) = (unsafe { last.as_ref() }) else {
            node.links.next.store(new, Relaxed);
            node.links.previous.store(new, Relaxed);
            self.last.store(new, Relaxed);
            return;
        };
        let mut next = tail.links.next.load(Relaxed);
        if tail.priority() >= node.priority() {
            self.last.store(new, Relaxed);
        } else {
            // SAFETY: as above; the last node ends the loop, because its priority is lower.
            while unsafe { &*next }.priority() >= node.priority() {
                // SAFETY: as above.
                next = unsafe { &*next }.links.next.load(Relaxed);
            }
        }
        // SAFETY: as above.
        let next_links = unsafe { &(*next).links };
        let previous = next_links.previous.swap(new, Relaxed);
        // SAFETY: as above.
        unsafe { &(*previous).links }.next.store(new, Relaxed);
        node.links.previous.store(previous, Relaxed);
        node.links.next.store(next, Relaxed);
    }

    /// A node with its neighbours in the ring.
    ///
    /// # Safety
    /// As for [`add`](Self::add), and the node is in the ring.
    pub(super) unsafe fn position(&self, node: &Node) -> RingPosition {
        RingPosition {
            node: core::ptr::from_ref(node).cast_mut(),
            previous: node.links.previous.load(Relaxed),
            next: node.links.next.load(Relaxed),
        }
    }

    /// Removes a node without touching it.
    ///
    /// # Safety
    /// As for [`add`](Self::add), except that the node itself may be freed; `position` is its current place in the
    /// ring.
    pub(super) unsafe fn remove(&self, position: RingPosition) {
        if position.next == position.node {
            return self.clear();
        }
        // SAFETY: the neighbours are in the ring, hence alive.
        unsafe {
            (*position.previous).links.next.store(position.next, Relaxed);
            (*position.next).links.previous.store(position.previous, Relaxed);
        }
        if self.last.load(Relaxed) == position.node {
            self.last.store(position.previous, Relaxed);
        }
    }

    /// Calls `visit` with each node and its position, in order, until it returns [`VisitNext::Stop`]. `visit` may
    /// remove the node that it is given.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    pub(super) unsafe fn each(&self, mut visit: impl FnMut(&Node, RingPosition) -> VisitNext) {
        let last = self.last.load(Relaxed);
        // SAFETY: alive, as the caller guarantees, as are all nodes reached from it.
        let Some(tail) = (unsafe { last.as_ref() }) else { return };
        let mut at = tail.links.next.load(Relaxed);
        loop {
            // SAFETY: 1. as above: `visit` can have removed only the node before this one; 2. the node is in the ring.
            let position = unsafe { self.position(&*at) };
            // SAFETY: as above.
            if visit(unsafe { &*at }, position) == VisitNext::Stop || at == last {
                return;
            }
            at = position.next;
        }
    }
}

/// Whether a visitor of the ring wants to see more nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum VisitNext {
    Stop,
    Continue,
}

/// Nodes in wake-up order; each one's thread wakes the next.
#[derive(Default)]
pub(super) struct Chain {
    ends: Option<(*mut Node, *mut Node)>,
}

impl Chain {
    /// Appends a node.
    ///
    /// # Safety
    /// The node is in no ring or chain any more. Like all nodes of the chain, it lives until it is woken.
    pub(super) unsafe fn add(&mut self, node: &Node) {
        let new = core::ptr::from_ref(node).cast_mut();
        node.links.end_chain();
        let first = match self.ends {
            None => new,
            Some((first, last)) => {
                // SAFETY: guaranteed by the caller.
                unsafe { &(*last).links }.next.store(new, Relaxed);
                first
            }
        };
        self.ends = Some((first, new));
    }

    /// Wakes the first; each woken thread wakes the next.
    ///
    /// # Safety
    /// As for [`add`](Self::add), for all nodes of the chain, and no other thread wakes any of them.
    pub(super) unsafe fn wake_first(self) {
        if let Some((first, _)) = self.ends {
            // SAFETY: the node lives until it is woken, as the caller guarantees.
            unsafe { &*first }.wake();
        }
    }

    /// Wakes all.
    ///
    /// # Safety
    /// See [`wake_first`](Self::wake_first).
    pub(super) unsafe fn wake_all(self) {
        let mut next = self.ends.map(|(first, _)| first.cast_const());
        while let Some(at) = next {
            // SAFETY: guaranteed by the caller. The next node is read before this one is woken, as this one may be
            // freed then.
            let node = unsafe { &*at };
            // SAFETY: the node is in a chain whose later members have not been woken.
            next = unsafe { node.links.next_in_chain() }.map(core::ptr::from_ref);
            node.links.end_chain();
            node.wake();
        }
    }
}
