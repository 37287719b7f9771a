//! Where the threads are that wait for a condition of ours: in a [`ConditionTable`], found by the condition's address. Nothing
//! is stored in the `pthread_cond_t`, so libc can serve it from one call to the next ([`bypass`]).

use crate::bypass;
use crate::glibc::condition::ConditionLayout;
use unspin_locks::{ConditionTable, Node, Waiters};

/// The table. It has more buckets than there are conditions for which threads of a large program wait at a time.
static TABLE: ConditionTable<1024> = ConditionTable::NEW;

/// The waiters of this condition.
#[inline(always)]
pub fn of(condition: &ConditionLayout) -> Waiters<'static> {
    TABLE.waiters(&raw const *condition as usize)
}

/// Adds the calling thread to the waiters, unless libc serves conditions by now. Returns whether it did.
///
/// # Safety
/// As for [`Waiters::enqueue`].
pub unsafe fn enqueue(waiters: Waiters<'_>, node: &Node) -> bool {
    // SAFETY: the caller's promise.
    unsafe { waiters.enqueue(node, &bypass::HAND_OVER) }
}

/// Wakes the waiters of all conditions, without a signal, so that they wait in libc from then on.
#[cold]
pub fn wake_everyone() {
    TABLE.wake_everyone();
}
