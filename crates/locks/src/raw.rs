//! The contract of a lock.

use crate::Until;
use unspin_sync::hint;

/// What the calling thread did before it acquired the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waited {
    /// The lock was free.
    No,
    /// The thread spun, and never slept.
    Spun,
    /// The thread slept.
    Slept,
}

/// A mutual-exclusion lock without the data that it protects.
///
/// Between a successful acquisition and the `unlock` after it no other thread acquires the lock. The next thread that
/// acquires the lock sees everything that was written before that `unlock`.
///
/// Misuse is not undefined behaviour *of the lock*, because the locks replace those of C programs. `unlock` of a free
/// lock leaves it free and usable. A thread may release a lock that another thread has acquired. (The data that the
/// lock protects may suffer; the caller is responsible for that, so `unlock` is `unsafe`.)
///
/// The memory of the lock may be gone as soon as another thread can have acquired it: `unlock` does not touch the lock
/// after that point.
///
/// A child made by fork(2) inherits the bytes of the lock but not the threads. What the bytes say about waiters does no
/// harm in the child: no release hands the lock to a thread that does not exist, and no wake-up depends on such a
/// thread.
///
/// # Safety
/// The implementation provides the mutual exclusion described above, and [`RawLock::new`] returns a value of all
/// zeroes.
pub unsafe trait RawLock: Send + Sync + Sized + 'static {
    /// A waiter's queue node. It lives on the waiter's stack, and only while the thread waits. A held lock points to no
    /// node of its owner, so `unlock` needs no node.
    type Node: Default;

    /// A free lock: all bytes zero. Loom models have only [`RawLock::new`].
    #[cfg(not(loom))]
    const NEW: Self;

    /// A free lock.
    fn new() -> Self;

    /// Acquires the lock if it is free and not reserved for a waiter.
    fn try_lock(&self) -> bool;

    /// Acquires the lock. Waits without a time limit.
    fn lock(&self, node: &mut Self::Node) -> Waited;

    /// Acquires the lock, or returns `None` once `until` has passed; then the thread has left the queue. A free lock is
    /// acquired even if `until` has already passed.
    fn lock_until(&self, node: &mut Self::Node, until: Until) -> Option<Waited>;

    /// Releases the lock.
    ///
    /// # Safety
    /// The caller holds the lock, or accepts that the thread that holds it no longer has exclusive access to the data.
    unsafe fn unlock(&self);

    /// Whether a thread holds the lock: true at some moment during the call.
    fn is_locked(&self) -> bool;
}

/// Polls a lock until it is free, then takes it. Ignores any queue order.
#[cold]
pub(crate) fn poll(lock: &impl RawLock, until: Option<Until>) -> Option<Waited> {
    loop {
        // A plain load keeps the cache line shared until the word changes.
        if !lock.is_locked() && lock.try_lock() {
            return Some(Waited::Spun);
        }
        if until.is_some_and(Until::is_over) {
            return None;
        }
        hint::spin_loop();
    }
}

/// Inside an implementation of [`RawLock`]: defines the constant `NEW` and the function `new` from one expression.
/// Under loom only the function exists, because loom's atomics cannot be built in a constant.
macro_rules! free {
    ($lock:expr) => {
        #[cfg(not(loom))]
        const NEW: Self = $lock;

        #[inline(always)]
        fn new() -> Self {
            $lock
        }
    };
}
pub(crate) use free;
