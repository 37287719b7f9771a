//! The contract of a lock.

use crate::Until;
use unspin_sync::hint;

/// How an acquisition went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waited {
    /// The lock was free.
    No,
    /// The thread spun, and never slept.
    Spun,
    /// The thread slept.
    Slept,
}

/// A mutual-exclusion lock without what it protects.
///
/// Between a successful acquisition and the `unlock` after it nobody else acquires, and what was written before that
/// `unlock` is seen by the next who acquires.
///
/// Misuse is not undefined behaviour *of the lock*, because the locks stand in for those of C programs: `unlock` of a lock
/// that nobody holds leaves it free and usable, and a thread may release what another has acquired. (Whose data that breaks
/// is the caller's business, hence `unsafe`.)
///
/// The memory may be gone as soon as somebody else can have acquired: `unlock` does not touch it after that.
///
/// A child made by fork(2) inherits the bytes and not the threads. What they say of waiters is harmless there: nothing is
/// handed to a thread that does not exist, and nobody relies on one to be awake.
///
/// # Safety
/// The implementation excludes as described, and a value of all zeroes is what [`RawLock::new`] makes.
pub unsafe trait RawLock: Send + Sync + Sized + 'static {
    /// What a waiter adds to the queue. It lives on the waiter's stack, and only while it waits: a lock that is held
    /// points to no node of its owner, so that whoever releases needs none.
    type Node: Default;

    /// A free lock: all bytes zero. Models have [`RawLock::new`] only.
    #[cfg(not(loom))]
    const NEW: Self;

    /// A free lock.
    fn new() -> Self;

    /// Acquires if nobody holds it (and nobody has a better right to it).
    fn try_lock(&self) -> bool;

    /// Acquires, however long that takes.
    fn lock(&self, node: &mut Self::Node) -> Waited;

    /// Acquires unless that time comes first; then `None`, and the thread has left the queue. A lock that is free is
    /// acquired however late it is.
    fn lock_until(&self, node: &mut Self::Node, until: Until) -> Option<Waited>;

    /// Releases.
    ///
    /// # Safety
    /// The caller holds it, or accepts what happens to the data when whoever does is not alone with it any more.
    unsafe fn unlock(&self);

    /// Whether somebody holds it: true of some moment during the call.
    fn is_locked(&self) -> bool;
}

/// Looks at a lock until it is free, and takes it, out of any order that there is.
#[cold]
pub(crate) fn poll(lock: &impl RawLock, until: Option<Until>) -> Option<Waited> {
    loop {
        // Read only, so that the line stays shared until it changes.
        if !lock.is_locked() && lock.try_lock() {
            return Some(Waited::Spun);
        }
        if until.is_some_and(Until::is_over) {
            return None;
        }
        hint::spin_loop();
    }
}

/// In the implementation of [`RawLock`]: what a free lock is made of. Both of the constant and the function, because the
/// atomics of a model cannot be made in a constant.
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
