//! A waiter's place in the queue of a lock, on the waiter's stack, and the rings that the queue consists of.

use core::ptr::{NonNull, null_mut};
use unspin_sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The thread waits.
pub(super) const WAITING: u32 = 0;
/// The node has left its ring, and a thread is about to store why: [`GRANTED`], or [`SIGNALLED`] for a reader. The node lives
/// until its thread sees that.
pub(super) const PENDING: u32 = 1;
/// The thread has the lock.
pub(super) const GRANTED: u32 = 2;
/// The thread is to look at the lock. A writer is still in the queue, and [`AWAKE`](super::word::AWAKE) is set for it. A reader
/// has left the queue.
pub(super) const SIGNALLED: u32 = 3;

/// A waiter. Its links belong to the thread in the lock's section.
#[derive(Debug)]
pub(super) struct Node {
    /// One of the values above; the futex on which the thread sleeps.
    pub(super) word: AtomicU32,
    /// Ticks at which the thread entered the queue.
    pub(super) since: AtomicU64,
    pub(super) next: AtomicPtr<Node>,
    pub(super) previous: AtomicPtr<Node>,
    /// In the last writer's node: the last reader's node, if readers are queued.
    pub(super) readers: AtomicPtr<Node>,
}

impl Node {
    pub(super) fn new(since: u64) -> Node {
        Node {
            word: AtomicU32::new(WAITING),
            since: AtomicU64::new(since),
            next: AtomicPtr::new(null_mut()),
            previous: AtomicPtr::new(null_mut()),
            readers: AtomicPtr::new(null_mut()),
        }
    }
}

// A ring is named by its last node, or null if it is empty: the `next` of the last one is the first. All functions
// require that the caller is in the section of the lock whose waiters the nodes are, and that the nodes of the ring are
// queued. Relaxed throughout: the section provides the ordering.

/// The first node of a ring that is not empty.
///
/// # Safety
/// `last` is the last node of a ring, in the caller's section.
pub(super) unsafe fn first(last: *mut Node) -> *mut Node {
    // SAFETY: the caller's promise.
    unsafe { (*last).next.load(Ordering::Relaxed) }
}

/// Appends a node, which is the last one then.
///
/// # Safety
/// `last` is null or the last node of a ring, in the caller's section; `node` is in no ring, and lives until it has left.
pub(super) unsafe fn append(last: *mut Node, node: NonNull<Node>) -> *mut Node {
    let node = node.as_ptr();
    // SAFETY: the caller's promise.
    unsafe {
        let (first, last) = if last.is_null() { (node, node) } else { (first(last), last) };
        (*node).next.store(first, Ordering::Relaxed);
        (*node).previous.store(last, Ordering::Relaxed);
        (*first).previous.store(node, Ordering::Relaxed);
        (*last).next.store(node, Ordering::Relaxed);
    }
    node
}

/// Removes a node. Returns the last one of the ring, or null.
///
/// # Safety
/// `node` is in the ring with this last node, in the caller's section.
pub(super) unsafe fn remove(last: *mut Node, node: *mut Node) -> *mut Node {
    // SAFETY: the caller's promise.
    unsafe {
        let (next, previous) =
            ((*node).next.load(Ordering::Relaxed), (*node).previous.load(Ordering::Relaxed));
        if next == node {
            return null_mut();
        }
        (*previous).next.store(next, Ordering::Relaxed);
        (*next).previous.store(previous, Ordering::Relaxed);
        if last == node { previous } else { last }
    }
}
