//! Those who wait: a ring of nodes, by priority and then by arrival.
//!
//! All links are protected by the condition's latch, those of a chain by who may wake its members; hence Relaxed
//! throughout, and atomic only so that a mistake is a wrong order rather than undefined behaviour.

use super::node::Node;
use core::ptr::null_mut;
use unspin_sync::atomic::AtomicPtr;
use unspin_sync::atomic::Ordering::Relaxed;

/// The neighbours of a node.
#[derive(Debug)]
pub(super) struct Links {
    /// In the ring: the next, or the first if it is the last. In a chain: the next, or null.
    next: AtomicPtr<Node>,
    previous: AtomicPtr<Node>,
}

impl Default for Links {
    fn default() -> Links {
        Links { next: AtomicPtr::new(null_mut()), previous: AtomicPtr::new(null_mut()) }
    }
}

impl Links {
    /// The next in the chain.
    ///
    /// # Safety
    /// The node is in a chain, whose members are still there.
    pub(super) unsafe fn next_in_chain<'a>(&self) -> Option<&'a Node> {
        // SAFETY: the caller's promise.
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

/// A node of the ring as it stood there: enough to take it out when it may be gone already.
#[derive(Clone, Copy)]
pub(super) struct Place {
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
    /// A glance without the latch, or a statement with it.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.last.load(Relaxed).is_null()
    }

    /// Forgets all nodes.
    pub(super) fn clear(&self) {
        self.last.store(null_mut(), Relaxed);
    }

    /// Adds a node behind those of its priority.
    ///
    /// # Safety
    /// Of this and all below: the caller holds the latch, the nodes in the ring are alive, and this one stays until it was
    /// taken out.
    pub(super) unsafe fn add(&self, node: &Node) {
        let new = core::ptr::from_ref(node).cast_mut();
        let last = self.last.load(Relaxed);
        // SAFETY: alive by the caller's promise, as are all that are reached from it.
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
            // SAFETY: as above; the last one ends it, being of less priority.
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

    /// Where a node stands.
    ///
    /// # Safety
    /// As for [`add`](Self::add), and the node is in the ring.
    pub(super) unsafe fn place(&self, node: &Node) -> Place {
        Place {
            node: core::ptr::from_ref(node).cast_mut(),
            previous: node.links.previous.load(Relaxed),
            next: node.links.next.load(Relaxed),
        }
    }

    /// Takes a node out, without touching it.
    ///
    /// # Safety
    /// As for [`add`](Self::add), except that the node itself may be gone; it stands in the ring there.
    pub(super) unsafe fn remove(&self, place: Place) {
        if place.next == place.node {
            return self.clear();
        }
        // SAFETY: the neighbours are in the ring, hence alive.
        unsafe {
            (*place.previous).links.next.store(place.next, Relaxed);
            (*place.next).links.previous.store(place.previous, Relaxed);
        }
        if self.last.load(Relaxed) == place.node {
            self.last.store(place.previous, Relaxed);
        }
    }

    /// Shows each node and where it stands, the first first, until `visit` says that it has seen enough. It may take out the
    /// one that it is shown.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    pub(super) unsafe fn each(&self, mut visit: impl FnMut(&Node, Place) -> Seen) {
        let last = self.last.load(Relaxed);
        // SAFETY: alive by the caller's promise, as are all that are reached from it.
        let Some(tail) = (unsafe { last.as_ref() }) else { return };
        let mut at = tail.links.next.load(Relaxed);
        loop {
            // SAFETY: 1. as above: of those in the ring only the one before this was shown; 2. the node is in the ring.
            let place = unsafe { self.place(&*at) };
            // SAFETY: as above.
            if visit(unsafe { &*at }, place) == Seen::Enough || at == last {
                return;
            }
            at = place.next;
        }
    }
}

/// Whether somebody who goes through the ring wants to see more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    Enough,
    More,
}

/// Nodes in the order in which they will be woken, each by the one before.
#[derive(Default)]
pub(super) struct Chain {
    ends: Option<(*mut Node, *mut Node)>,
}

impl Chain {
    /// Adds a node at the end.
    ///
    /// # Safety
    /// It is in no ring or chain any more, and like the others stays until it is woken.
    pub(super) unsafe fn add(&mut self, node: &Node) {
        let new = core::ptr::from_ref(node).cast_mut();
        node.links.end_chain();
        let first = match self.ends {
            None => new,
            Some((first, last)) => {
                // SAFETY: the caller's promise.
                unsafe { &(*last).links }.next.store(new, Relaxed);
                first
            }
        };
        self.ends = Some((first, new));
    }

    /// Wakes the first, which will wake the others.
    ///
    /// # Safety
    /// As for [`add`](Self::add), and nobody else wakes one of them. Also of the next.
    pub(super) unsafe fn wake_first(self) {
        if let Some((first, _)) = self.ends {
            // SAFETY: the caller's promise: it stays until it is woken.
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
            // SAFETY: the caller's promise; the next one is read before this one is woken, and may be gone.
            let node = unsafe { &*at };
            // SAFETY: in a chain whose later members were not woken.
            next = unsafe { node.links.next_in_chain() }.map(core::ptr::from_ref);
            node.links.end_chain();
            node.wake();
        }
    }
}
