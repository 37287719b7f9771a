//! A mutex in which our lock lies beside libc's. A *tag* in the mutex says which of them a thread is to acquire.
//!
//! Once the hand-over has begun, the thread that acquires our lock *moves the mutex to libc* ([`move_to_libc`]): it stores
//! libc's tag while it has our lock, acquires libc's lock, and releases ours. Threads that wait for our lock, or have read
//! the tag before, get our lock one after another and do the same. So each acquisition of our lock looks afterwards
//! whether the hand-over has begun. If it has not, no thread has moved the mutex: a thread that did so had seen it begin
//! before it released our lock.
//!
//! A mutex that a thread holds when the hand-over begins stays ours until it is released, or until its owner waits with
//! it for a condition ([`move_held_to_libc`]).

use super::HandOver;

/// A mutex with two locks, for one call.
pub trait TwoLocks: Copy {
    /// Whether the tag says that the mutex is libc's. Acquire: partner of the Release in [`make_libcs`](Self::make_libcs).
    fn is_libcs(self) -> bool;

    /// Stores this tag. Release: a thread that reads the tag acquires libc's lock, and perhaps before the thread that has
    /// stored it. It must see what the last owner of our lock has written, which this thread has seen.
    fn make_libcs(self);

    /// Whether libc's lock is locked.
    fn has_libcs_locked(self) -> bool;

    /// Whether our lock is locked.
    fn has_ours_locked(self) -> bool;

    /// Releases our lock.
    ///
    /// # Safety
    /// The calling thread has it.
    unsafe fn unlock_ours(self);

    /// Whether the calling thread is noted as the owner of one of the locks.
    fn is_mine(self) -> bool;

    /// The calling thread is no longer the owner, and one user less uses the mutex.
    fn disown(self);

    /// How often the owner has acquired it, if that is counted.
    fn depth(self) -> u32;

    /// Sets this number.
    fn set_depth(self, depth: u32);
}

/// Which threads may release a mutex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnerCheck {
    /// All.
    None,
    /// The owner.
    Owner,
    /// The owner, as long as the lock is locked.
    LockedAndOwner,
}

/// Moves a mutex to libc, for a thread that has acquired our lock in it and is not noted as its owner. `lock` is a function
/// of libc that acquires the mutex. Returns its result.
pub fn move_to_libc<R>(mutex: impl TwoLocks, lock: impl FnOnce() -> R) -> R {
    mutex.make_libcs();
    let code = lock();
    // SAFETY: the caller has our lock.
    unsafe { mutex.unlock_ours() };
    code
}

/// Moves a mutex that the calling thread holds to libc: for libc's wait for a condition. A mutex that checks its
/// owner, and is not the thread's, is left as it is: libc's wait refuses it (EPERM), as it compares the same word.
pub fn move_held_to_libc<R>(
    mutex: impl TwoLocks,
    check: OwnerCheck,
    hand_over: &HandOver,
    lock: impl FnOnce() -> R,
) {
    if check != OwnerCheck::None && !mutex.is_mine() || is_libcs_by_now(mutex, hand_over) {
        return;
    }
    // libc's wait finds its own lock free, and refuses it too.
    if check == OwnerCheck::LockedAndOwner && !mutex.has_ours_locked() {
        return;
    }
    let depth = mutex.depth();
    mutex.disown();
    mutex.set_depth(0);
    // Before the tag is stored: a thread that reads the tag acquires libc's lock, and must not get it before this thread. It
    // would signal the condition before this thread waits.
    lock();
    mutex.make_libcs();
    // SAFETY: the caller holds the mutex, by our lock.
    unsafe { mutex.unlock_ours() };
    mutex.set_depth(depth);
}

/// Whether a mutex in which this call has found the tag of our lock is to be released by libc: it was locked by code that
/// calls libc directly, and is released by a function that does not. It is libc's from then on.
///
/// That our lock is locked does not say that this call is to release it. Another thread may have acquired it after
/// this call read the tag, to move the mutex to libc; it waits for libc's lock now, which this call is to
/// release. There are two signs of that:
///
/// - libc's lock is locked and this thread is its owner. The other thread writes no owner before it has libc's lock.
/// - The tag is libc's by now. The other thread stores it once it has our lock, so no other thread has had that since.
///   This sign is for a normal mutex that another thread than its owner releases.
pub fn is_libcs_by_now(mutex: impl TwoLocks, hand_over: &HandOver) -> bool {
    if !hand_over.has_begun() {
        return false;
    }
    let is = mutex.is_libcs() || mutex.has_libcs_locked() && (mutex.is_mine() || !mutex.has_ours_locked());
    if is {
        mutex.make_libcs();
    }
    is
}
