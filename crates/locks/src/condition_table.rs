//! The waiters of many conditions, in a table by the address of each. Nothing is stored in the condition itself. So its
//! words are libc's at any time, and libc can serve it from one call to the next.
//!
//! Conditions with the same hash share a [`Condition`], whose waiters name the address of theirs.
//!
//! The hand-over to libc ([`HandOver`]): the thread that begins it wakes everyone afterwards
//! ([`wake_everyone`](ConditionTable::wake_everyone)). A thread adds itself first and then looks whether the hand-over has
//! begun ([`Waiters::enqueue`]). If it was added before its bucket was emptied, it is woken. If it was added later, it
//! sees the hand-over, because it has acquired the bucket's latch after the thread that has begun it.

#[cfg(all(test, loom))]
mod models;

use crate::{Condition, HandOver, LeaveReason, LeaveResult, Node};

/// The table. The number of buckets is a power of two, and at least two.
#[derive(Debug)]
pub struct ConditionTable<const BUCKETS: usize>([Bucket; BUCKETS]);

/// One line of the cache.
#[repr(align(64))]
#[derive(Default, Debug)]
struct Bucket(Condition);

/// The waiters of one condition.
#[derive(Clone, Copy, Debug)]
pub struct Waiters<'table> {
    bucket: &'table Condition,
    object: usize,
}

impl<const BUCKETS: usize> ConditionTable<BUCKETS> {
    /// A table without waiters.
    #[cfg(not(any(loom, shuttle)))]
    #[expect(clippy::declare_interior_mutable_const, reason = "a value to begin with, as in lock_api")]
    pub const NEW: ConditionTable<BUCKETS> = ConditionTable([const { Bucket(Condition::NEW) }; BUCKETS]);

    /// Those of the condition at this address.
    #[inline(always)]
    pub fn waiters(&self, object: usize) -> Waiters<'_> {
        Waiters { bucket: &self.0[Self::index(object)].0, object }
    }

    /// Wakes the waiters of all conditions: their waits end as if they had been signalled, which POSIX permits at any time
    /// (pthread_cond_wait(3), "spurious wakeups"). To be called after the hand-over has begun.
    #[cold]
    pub fn wake_everyone(&self) {
        for Bucket(condition) in &self.0 {
            condition.wake_everyone();
        }
    }

    /// The index of a condition's bucket: Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4).
    #[inline(always)]
    fn index(object: usize) -> usize {
        const { assert!(BUCKETS.is_power_of_two() && BUCKETS > 1) };
        ((object as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - BUCKETS.ilog2())) as usize
    }
}

impl Waiters<'_> {
    /// The node of a thread that is to wait with this real-time priority, and to acquire this mutex afterwards.
    pub fn node<T>(self, priority: u32, mutex: *const T) -> Node {
        Node::new(priority).for_mutex(mutex).for_object(self.object)
    }

    /// Adds the calling thread, unless the hand-over to libc has begun. Returns whether it did.
    ///
    /// # Safety
    /// As for [`Condition::enqueue`], if it did.
    pub unsafe fn enqueue(self, node: &Node, hand_over: &HandOver) -> bool {
        // SAFETY: 1. the caller's promise; 2. the node leaves here where it is not to stay.
        unsafe {
            self.bucket.enqueue(node);
            let stays = !hand_over.has_begun();
            if !stays {
                self.bucket.leave(node, LeaveReason::Cancelled);
                node.pass_on();
            }
            stays
        }
    }

    /// [`Condition::leave`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn leave(self, node: &Node, leaving: LeaveReason) -> LeaveResult {
        // SAFETY: the caller's promise.
        unsafe { self.bucket.leave(node, leaving) }
    }

    /// Whether there are any.
    pub fn exist(self) -> bool {
        self.bucket.has_waiters_for(self.object)
    }

    /// Wakes one.
    #[inline(always)]
    pub fn signal(self) {
        self.bucket.signal_for(self.object);
    }

    /// Wakes all.
    #[inline(always)]
    pub fn broadcast(self) {
        self.bucket.broadcast_for(self.object);
    }

    /// Returns when there are none.
    pub fn retire(self) {
        self.bucket.retire_object(self.object);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Conditions of an array, and those of a class of objects, which begin on lines of the cache.
    #[test]
    fn neighbours_are_in_different_buckets() {
        let index = ConditionTable::<1024>::index;
        for distance in [48, 64, 128, 192] {
            let buckets: BTreeSet<_> = (0..32).map(|n| index(0x5555_5555_0040 + n * distance)).collect();
            assert!(buckets.len() > 24, "{distance}: {}", buckets.len());
        }
    }

    #[test]
    fn thread_that_comes_after_the_hand_over_is_not_added() {
        let (table, hand_over) = (ConditionTable::<2>::NEW, HandOver::NOT_BEGUN);
        let waiters = table.waiters(8);
        let before = waiters.node(0, &raw const table);
        // SAFETY: the node stays in place, and leaves below.
        assert!(unsafe { waiters.enqueue(&before, &hand_over) } && waiters.exist());
        assert_eq!((hand_over.begin(), hand_over.begin()), (true, false));
        let late = waiters.node(0, &raw const table);
        // SAFETY: the node stays in place; it leaves at once.
        assert!(!unsafe { waiters.enqueue(&late, &hand_over) } && before.is_waiting());
        table.wake_everyone();
        assert!(!before.is_waiting() && !waiters.exist());
        // SAFETY: the node was added, and leaves once.
        unsafe {
            assert_eq!(waiters.leave(&before, LeaveReason::Returns), LeaveResult::Signalled);
            before.pass_on();
        }
    }
}
