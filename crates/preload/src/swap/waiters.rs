//! Where the threads are that wait for a condition of ours: in a table, found by the condition's address. Nothing is
//! stored in the `pthread_cond_t`. So its words are libc's at any time, and libc can serve it from one call to the next
//! ([`bypass`](crate::bypass)).
//!
//! Conditions with the same hash share a [`Condition`], whose waiters name the address of theirs.

use crate::bypass;
use crate::glibc::condition::ConditionLayout;
use unspin_locks::{Condition, LeaveReason, LeaveResult, Node};

/// More than the conditions for which threads of a large program wait at a time.
const BUCKETS: usize = 1 << HASH_BITS;
const HASH_BITS: u32 = 10;

/// One line of the cache.
#[repr(align(64))]
struct Bucket(Condition);

static TABLE: [Bucket; BUCKETS] = [const { Bucket(Condition::NEW) }; BUCKETS];

/// The waiters of one condition.
#[derive(Clone, Copy)]
pub struct Waiters {
    bucket: &'static Condition,
    object: usize,
}

impl Waiters {
    /// Those of this condition.
    #[inline(always)]
    pub fn of(condition: &ConditionLayout) -> Waiters {
        let object = &raw const *condition as usize;
        Waiters { bucket: &TABLE[index(object)].0, object }
    }

    /// The node of a thread that is to wait with this real-time priority, and to acquire this mutex afterwards.
    pub fn node<T>(self, priority: u32, mutex: *const T) -> Node {
        Node::new(priority).for_mutex(mutex).for_object(self.object)
    }

    /// Adds the calling thread, unless libc serves conditions by now. Returns whether it did.
    ///
    /// # Safety
    /// As for [`Condition::enqueue`], if it did.
    pub unsafe fn enqueue(self, node: &Node) -> bool {
        // SAFETY: 1. the caller's promise; 2. the node leaves here where it is not to stay.
        unsafe {
            self.bucket.enqueue(node);
            // The thread that sets the flag wakes everyone afterwards. Either that finds this node, or the flag is seen.
            let stays = !bypass::exists();
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

/// The index of a condition's bucket: Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4).
#[inline(always)]
fn index(object: usize) -> usize {
    ((object as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - HASH_BITS)) as usize
}

/// Wakes the waiters of all conditions: their waits end as if they had been signalled, which POSIX permits at any time
/// (pthread_cond_wait(3), "spurious wakeups").
#[cold]
pub fn wake_everyone() {
    for Bucket(condition) in &TABLE {
        condition.wake_everyone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Conditions of an array, and those of a class of objects, which begin on lines of the cache.
    #[test]
    fn neighbours_are_in_different_buckets() {
        for distance in [48, 64, 128, 192] {
            let buckets: BTreeSet<_> = (0..32).map(|n| index(0x5555_5555_0040 + n * distance)).collect();
            assert!(buckets.len() > 24, "{distance}: {}", buckets.len());
        }
    }
}
