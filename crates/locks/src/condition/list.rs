//! The waiters: for each object a ring of nodes, by priority and then by arrival. The last nodes of these rings are in a ring
//! themselves. So the waiters of one object are found in as many steps as there are objects, however many threads wait.
//!
//! The condition's latch protects all links of the rings. The links of a chain belong to the one thread that may wake
//! its next member. Hence all accesses are Relaxed. They are atomic only so that a mistake leads to a wrong order
//! instead of undefined behaviour.

use super::node::Node;
use core::iter;
use core::ptr::null_mut;
use unspin_sync::atomic::AtomicPtr;
use unspin_sync::atomic::Ordering::Relaxed;

/// The neighbours of a node.
#[derive(Default, Debug)]
pub(super) struct ListLinks {
    /// In the ring of its object's waiters: the next node; for the last node the first. In a chain: the next node, or null.
    waiters: Links,
    /// For the last node of a ring: the last nodes of other rings. Null for other nodes.
    rings: Links,
}

#[derive(Debug)]
struct Links {
    next: AtomicPtr<Node>,
    previous: AtomicPtr<Node>,
}

impl Default for Links {
    fn default() -> Links {
        Links { next: AtomicPtr::new(null_mut()), previous: AtomicPtr::new(null_mut()) }
    }
}

impl Links {
    fn neighbours(&self) -> Neighbours {
        Neighbours { previous: self.previous.load(Relaxed), next: self.next.load(Relaxed) }
    }

    fn set(&self, to: Neighbours) {
        self.previous.store(to.previous, Relaxed);
        self.next.store(to.next, Relaxed);
    }
}

impl ListLinks {
    /// The next node of the chain.
    ///
    /// # Safety
    /// The node is in a chain, and the later members are alive.
    pub(super) unsafe fn next_in_chain<'a>(&self) -> Option<&'a Node> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.waiters.next.load(Relaxed).as_ref() }
    }

    /// Makes the node the last of its chain.
    fn end_chain(&self) {
        self.waiters.next.store(null_mut(), Relaxed);
    }
}

/// Two nodes that are, or were, beside another one in a ring.
#[derive(Clone, Copy)]
struct Neighbours {
    previous: *mut Node,
    next: *mut Node,
}

impl Neighbours {
    /// Those of a node that is in no ring.
    const NONE: Neighbours = Neighbours { previous: null_mut(), next: null_mut() };

    /// Those of the only node of a ring.
    fn of_only(node: *mut Node) -> Neighbours {
        Neighbours { previous: node, next: node }
    }
}

/// Which of a node's links.
type Level = fn(&ListLinks) -> &Links;

const WAITERS: Level = |links| &links.waiters;
const RINGS: Level = |links| &links.rings;

/// Inserts a node between two neighbours, or as the only one if they are the node itself.
///
/// # Safety
/// All three are alive, and the caller holds the latch.
unsafe fn insert(level: Level, node: *mut Node, between: Neighbours) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        level(&(*between.previous).links).next.store(node, Relaxed);
        level(&(*between.next).links).previous.store(node, Relaxed);
        level(&(*node).links).set(between);
    }
}

/// Closes the gap between the neighbours of a node that is removed, and that is not the only one of its ring.
///
/// # Safety
/// The neighbours are alive, and the caller holds the latch.
unsafe fn close_gap(level: Level, between: Neighbours) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        level(&(*between.previous).links).next.store(between.next, Relaxed);
        level(&(*between.next).links).previous.store(between.previous, Relaxed);
    }
}

/// The rings, by the last node of one of them.
#[derive(Debug)]
pub(super) struct List {
    ring: AtomicPtr<Node>,
}

/// A node and its neighbours: enough to remove it when its memory may be gone already.
#[derive(Clone, Copy)]
pub(super) struct RingPosition {
    node: *mut Node,
    waiters: Neighbours,
    rings: Neighbours,
}

impl Default for List {
    fn default() -> List {
        List { ring: AtomicPtr::new(null_mut()) }
    }
}

impl List {
    /// A snapshot without the latch; exact with it.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ring.load(Relaxed).is_null()
    }

    /// Removes all nodes without touching them.
    pub(super) fn clear(&self) {
        self.ring.store(null_mut(), Relaxed);
    }

    /// Inserts a node after the nodes of its object that have its own or a higher priority.
    ///
    /// # Safety
    /// For this and all functions below: the caller holds the latch, the nodes in the rings are alive, and this node
    /// lives until it has been removed.
    pub(super) unsafe fn add(&self, node: &Node) {
        let new = core::ptr::from_ref(node).cast_mut();
        // SAFETY: alive, as the caller guarantees, as are all nodes reached from it.
        unsafe {
            let Some(tail) = self.last_of(node.object()) else {
                insert(WAITERS, new, Neighbours::of_only(new));
                self.add_ring(new);
                return;
            };
            let mut next = tail.links.waiters.next.load(Relaxed);
            if tail.priority() >= node.priority() {
                let last = core::ptr::from_ref(tail).cast_mut();
                self.replace_last(last, tail.links.rings.neighbours(), new);
                tail.links.rings.set(Neighbours::NONE);
            } else {
                // The last node ends the loop, because its priority is lower.
                while (*next).priority() >= node.priority() {
                    next = (*next).links.waiters.next.load(Relaxed);
                }
            }
            let previous = (*next).links.waiters.previous.load(Relaxed);
            insert(WAITERS, new, Neighbours { previous, next });
        }
    }

    /// Adds a ring, by its last node.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    unsafe fn add_ring(&self, last: *mut Node) {
        let next = self.ring.load(Relaxed);
        // SAFETY: as the caller guarantees.
        unsafe {
            let between = match next.as_ref() {
                None => Neighbours::of_only(last),
                Some(first) => Neighbours { previous: first.links.rings.previous.load(Relaxed), next },
            };
            insert(RINGS, last, between);
        }
        self.ring.store(last, Relaxed);
    }

    /// Makes `new` the last node of a ring whose last node was `old`, with these neighbours. `old` is not touched.
    ///
    /// # Safety
    /// As for [`add`](Self::add), except that `old` may be freed.
    unsafe fn replace_last(&self, old: *mut Node, rings: Neighbours, new: *mut Node) {
        let between = if rings.next == old { Neighbours::of_only(new) } else { rings };
        // SAFETY: as the caller guarantees.
        unsafe { insert(RINGS, new, between) };
        if self.ring.load(Relaxed) == old {
            self.ring.store(new, Relaxed);
        }
    }

    /// The last nodes of all rings. The caller may remove nodes of the ring that it was given last.
    ///
    /// # Safety
    /// As for [`add`](Self::add), as long as the iterator is used.
    pub(super) unsafe fn rings<'a>(&self) -> impl Iterator<Item = &'a Node> + use<'a> {
        // SAFETY: alive, as the caller guarantees, as are all nodes reached from it.
        let mut next = unsafe { self.ring.load(Relaxed).as_ref() };
        let end = next.map(|first| first.links.rings.previous.load(Relaxed).cast_const());
        iter::from_fn(move || {
            let last = next?;
            let is_end = end == Some(core::ptr::from_ref(last));
            // SAFETY: as above. Read before the caller can remove this node, and the caller removes no node of another ring.
            next = unsafe { last.links.rings.next.load(Relaxed).as_ref() }.filter(|_| !is_end);
            Some(last)
        })
    }

    /// The last node of this object's ring.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    unsafe fn last_of<'a>(&self, object: usize) -> Option<&'a Node> {
        // SAFETY: as the caller guarantees.
        unsafe { self.rings().find(|last| last.object() == object) }
    }

    /// Whether a thread waits for this object.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    pub(super) unsafe fn has(&self, object: usize) -> bool {
        // SAFETY: as the caller guarantees.
        unsafe { self.last_of(object) }.is_some()
    }

    /// A node with its neighbours.
    ///
    /// # Safety
    /// As for [`add`](Self::add), and the node is in a ring.
    pub(super) unsafe fn position(&self, node: &Node) -> RingPosition {
        RingPosition {
            node: core::ptr::from_ref(node).cast_mut(),
            waiters: node.links.waiters.neighbours(),
            rings: node.links.rings.neighbours(),
        }
    }

    /// Removes a node without touching it.
    ///
    /// # Safety
    /// As for [`add`](Self::add), except that the node itself may be freed; `position` is its current place.
    pub(super) unsafe fn remove(&self, position: RingPosition) {
        let RingPosition { node, waiters, rings } = position;
        let is_only = waiters.next == node;
        let is_last = !rings.next.is_null();
        // SAFETY: the neighbours are in rings, hence alive.
        unsafe {
            if !is_only {
                close_gap(WAITERS, waiters);
                if is_last {
                    self.replace_last(node, rings, waiters.previous);
                }
            } else if rings.next == node {
                self.clear();
            } else {
                close_gap(RINGS, rings);
                if self.ring.load(Relaxed) == node {
                    self.ring.store(rings.next, Relaxed);
                }
            }
        }
    }

    /// Calls `visit` with each waiter of this object and its position, in order, until it returns [`VisitNext::Stop`].
    /// `visit` may remove the node that it is given.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    pub(super) unsafe fn each(&self, object: usize, visit: impl FnMut(&Node, RingPosition) -> VisitNext) {
        // SAFETY: as the caller guarantees.
        unsafe {
            if let Some(last) = self.last_of(object) {
                self.each_in_ring(last, visit);
            }
        }
    }

    /// Calls `visit` with each waiter of all objects and its position. `visit` may remove the node that it is given.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    pub(super) unsafe fn each_of_all(&self, mut visit: impl FnMut(&Node, RingPosition)) {
        // SAFETY: as the caller guarantees; `visit` removes only nodes of the ring that it is called for.
        unsafe {
            for last in self.rings() {
                self.each_in_ring(last, |node, position| {
                    visit(node, position);
                    VisitNext::Continue
                });
            }
        }
    }

    unsafe fn each_in_ring(&self, last: &Node, mut visit: impl FnMut(&Node, RingPosition) -> VisitNext) {
        let end = core::ptr::from_ref(last).cast_mut();
        let mut at = last.links.waiters.next.load(Relaxed);
        loop {
            // SAFETY: 1. as above: `visit` can have removed only the node before this one; 2. the node is in the ring.
            let position = unsafe { self.position(&*at) };
            // SAFETY: as above.
            if visit(unsafe { &*at }, position) == VisitNext::Stop || at == end {
                return;
            }
            at = position.waiters.next;
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
                unsafe { &(*last).links }.waiters.next.store(new, Relaxed);
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
