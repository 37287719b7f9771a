//! The adaptor to [`lock_api`]: any lock of this crate as the lock of a `lock_api::Mutex` or `lock_api::RwLock`.
//!
//! ```
//! use unspin_locks::api::Mutex;
//! use unspin_locks::{Adaptive, Fair};
//!
//! static COUNT: Mutex<Adaptive, u32> = Mutex::new(0);
//!
//! let thread = std::thread::spawn(|| *COUNT.lock() += 1);
//! *COUNT.lock() += 1;
//! thread.join().unwrap();
//! assert_eq!(*COUNT.lock(), 2);
//!
//! // With a timeout, as in `lock_api`.
//! let names: Mutex<Fair, Vec<&str>> = Mutex::new(vec!["a"]);
//! let guard = names.lock();
//! assert!(names.try_lock_for(std::time::Duration::from_millis(1)).is_none());
//! drop(guard);
//! assert_eq!(names.into_inner(), ["a"]);
//!
//! // A spin lock of four bytes.
//! use unspin_locks::api::SpinMutex;
//!
//! static SUM: SpinMutex<u64> = SpinMutex::new(0);
//! *SUM.lock() += 1;
//! assert_eq!(*SUM.lock(), 1);
//! ```
//!
//! A read-write lock:
//!
//! ```
//! use unspin_locks::api::RwLock;
//! use unspin_locks::rw::RwBiased;
//!
//! static LIMIT: RwLock<RwBiased, u32> = RwLock::new(1);
//!
//! *LIMIT.write() += 1;
//! let first = LIMIT.read();
//! // A thread may read what it reads already, even while a writer waits.
//! let again = LIMIT.read();
//! assert_eq!((*first, *again), (2, 2));
//! assert!(LIMIT.try_write_for(std::time::Duration::from_millis(1)).is_none());
//! ```

use crate::spin::Attempted;
use crate::{AdaptiveSpin, RawLock, RawRwLock, Recursion, Until};
use core::time::Duration;
use lock_api::{
    GuardNoSend, RawMutex, RawMutexTimed, RawRwLockRecursive, RawRwLockRecursiveTimed, RawRwLockTimed,
};
use std::time::Instant;

/// A mutex with one of this crate's locks.
pub type Mutex<L, T> = lock_api::Mutex<Api<L>, T>;

/// The guard that locking a [`Mutex`] returns.
pub type MutexGuard<'a, L, T> = lock_api::MutexGuard<'a, Api<L>, T>;

/// A mutex with this crate's spin lock, for short holds in many small objects: the lock has four bytes.
pub type SpinMutex<T> = lock_api::Mutex<SpinApi, T>;

/// The guard that locking a [`SpinMutex`] returns.
pub type SpinMutexGuard<'a, T> = lock_api::MutexGuard<'a, SpinApi, T>;

/// Adaptor that implements the traits of [`lock_api`] for a lock of this crate.
///
/// `RawMutexFair` is not implemented, because each lock decides itself when to hand over. [`crate::Fair`] always hands
/// over; [`crate::Adaptive`] does when a waiter has waited long.
#[derive(Debug)]
pub struct Api<L>(L);

// SAFETY: `RawLock` guarantees mutual exclusion.
unsafe impl<L: RawLock> RawMutex for Api<L> {
    const INIT: Api<L> = Api(L::NEW);

    /// Another thread may release a lock, but most programs that send a guard to another thread do so by mistake.
    type GuardMarker = GuardNoSend;

    #[inline(always)]
    fn lock(&self) {
        self.0.lock(&mut L::Node::default());
    }

    #[inline(always)]
    fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.unlock() };
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: as above; both functions return true only if they acquired the lock.
unsafe impl<L: RawLock> RawMutexTimed for Api<L> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, timeout: Duration) -> bool {
        self.0.lock_until(&mut L::Node::default(), Until::after(timeout)).is_some()
    }

    fn try_lock_until(&self, timeout: Instant) -> bool {
        self.try_lock_for(timeout.saturating_duration_since(Instant::now()))
    }
}

/// A read-write lock with one of this crate's locks.
///
/// A biased lock has a fence in each reader, unless the program calls [`use_membarrier`](crate::rw::use_membarrier) at its start.
pub type RwLock<L, T> = lock_api::RwLock<RwApi<L>, T>;

/// The guard that reading a [`RwLock`] returns.
pub type RwLockReadGuard<'a, L, T> = lock_api::RwLockReadGuard<'a, RwApi<L>, T>;

/// The guard that writing a [`RwLock`] returns.
pub type RwLockWriteGuard<'a, L, T> = lock_api::RwLockWriteGuard<'a, RwApi<L>, T>;

/// Adaptor that implements the traits of [`lock_api`] for a read-write lock of this crate.
#[derive(Debug)]
pub struct RwApi<L>(L);

// SAFETY: `RawRwLock` guarantees the exclusion.
unsafe impl<L: RawRwLock> lock_api::RawRwLock for RwApi<L> {
    const INIT: RwApi<L> = RwApi(L::NEW);

    /// As for mutexes: see [`Api`].
    type GuardMarker = GuardNoSend;

    #[inline(always)]
    fn lock_shared(&self) {
        self.0.read(Recursion::Allowed, None).expect("no program has so many readers");
    }

    #[inline(always)]
    fn try_lock_shared(&self) -> bool {
        self.0.try_read(Recursion::Allowed).is_ok()
    }

    #[inline(always)]
    unsafe fn unlock_shared(&self) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.unlock_read() };
    }

    #[inline(always)]
    fn lock_exclusive(&self) {
        self.0.write(None);
    }

    #[inline(always)]
    fn try_lock_exclusive(&self) -> bool {
        self.0.try_write()
    }

    #[inline(always)]
    unsafe fn unlock_exclusive(&self) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.unlock_write() };
    }

    fn is_locked(&self) -> bool {
        self.0.is_write_locked() || self.0.readers() != 0
    }

    fn is_locked_exclusive(&self) -> bool {
        self.0.is_write_locked()
    }
}

// SAFETY: a thread that holds a lock for reading never waits for a writer that waits.
unsafe impl<L: RawRwLock> RawRwLockRecursive for RwApi<L> {
    fn lock_shared_recursive(&self) {
        lock_api::RawRwLock::lock_shared(self);
    }

    fn try_lock_shared_recursive(&self) -> bool {
        lock_api::RawRwLock::try_lock_shared(self)
    }
}

// SAFETY: as above; the functions return true only if they acquired the lock.
unsafe impl<L: RawRwLock> RawRwLockTimed for RwApi<L> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        self.0.read(Recursion::Allowed, Some(Until::after(timeout))).is_ok()
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> bool {
        self.try_lock_shared_for(timeout.saturating_duration_since(Instant::now()))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        self.0.write(Some(Until::after(timeout))).is_some()
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> bool {
        self.try_lock_exclusive_for(timeout.saturating_duration_since(Instant::now()))
    }
}

// SAFETY: as for `RawRwLockRecursive`.
unsafe impl<L: RawRwLock> RawRwLockRecursiveTimed for RwApi<L> {
    fn try_lock_shared_recursive_for(&self, timeout: Duration) -> bool {
        self.try_lock_shared_for(timeout)
    }

    fn try_lock_shared_recursive_until(&self, timeout: Instant) -> bool {
        self.try_lock_shared_until(timeout)
    }
}

/// Adaptor that implements the trait of [`lock_api`] for the spin lock. No code that calls libc directly uses it, so it never
/// becomes libc's.
#[derive(Debug)]
pub struct SpinApi(AdaptiveSpin);

// SAFETY: `SpinLock` guarantees mutual exclusion.
unsafe impl RawMutex for SpinApi {
    const INIT: SpinApi = SpinApi(AdaptiveSpin::NEW);

    /// As for [`Api`].
    type GuardMarker = GuardNoSend;

    #[inline(always)]
    fn lock(&self) {
        let waited = self.0.lock();
        debug_assert!(waited.is_some(), "the lock is not libc's");
    }

    #[inline(always)]
    fn try_lock(&self) -> bool {
        self.0.try_lock() == Attempted::Acquired
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        // SAFETY: guaranteed by the caller.
        let is_ours = unsafe { self.0.unlock() };
        debug_assert!(is_ours, "the lock is not libc's");
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rw::{RwLockKind, RwLockVisitor};
    use crate::{Adaptive, LockKind, LockVisitor};

    struct Reads;

    impl RwLockVisitor for Reads {
        type Output = u32;

        fn visit<L: RawRwLock>(self) -> u32 {
            let lock = RwLock::<L, u32>::new(0);
            let read = lock.read();
            assert!(lock.is_locked() && !lock.is_locked_exclusive() && lock.try_write().is_none());
            assert_eq!(*read + *lock.read_recursive(), 0);
            assert!(lock.try_write_until(Instant::now()).is_none());
            drop(read);
            std::thread::scope(|s| {
                for _ in 0..2 {
                    s.spawn(|| (0..100).for_each(|_| *lock.write() += 1));
                    s.spawn(|| (0..100).for_each(|_| assert!(*lock.read() <= 200)));
                }
            });
            lock.into_inner()
        }
    }

    #[test]
    fn each_read_write_lock_guards_a_value() {
        let counts: Vec<_> = RwLockKind::ALL.into_iter().filter_map(|kind| kind.visit(Reads)).collect();
        assert_eq!(counts, [200; 3]);
    }

    struct Counts;

    impl LockVisitor for Counts {
        type Output = u32;

        fn visit<L: RawLock>(self) -> u32 {
            let mutex = Mutex::<L, u32>::new(0);
            let guard = mutex.lock();
            assert!(mutex.is_locked() && mutex.try_lock().is_none());
            assert!(mutex.try_lock_until(Instant::now()).is_none());
            drop(guard);
            std::thread::scope(|s| {
                for _ in 0..2 {
                    s.spawn(|| (0..100).for_each(|_| *mutex.lock() += 1));
                }
            });
            mutex.into_inner()
        }
    }

    #[test]
    fn each_lock_guards_a_value() {
        let counts: Vec<_> = LockKind::ALL.into_iter().filter_map(|kind| kind.visit(Counts)).collect();
        assert!(counts.len() >= 6 && counts.iter().all(|&count| count == 200));
    }

    #[test]
    fn spin_lock_guards_a_value() {
        let mutex = SpinMutex::new(0);
        let guard = mutex.lock();
        assert!(mutex.is_locked() && mutex.try_lock().is_none());
        drop(guard);
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| (0..1_000).for_each(|_| *mutex.lock() += 1));
            }
        });
        assert_eq!(mutex.into_inner(), 8_000);
    }

    #[test]
    fn mutex_adds_no_bytes_to_the_lock() {
        assert_eq!(size_of::<SpinApi>(), 4);
        assert_eq!(size_of::<Api<Adaptive>>(), size_of::<Adaptive>());
    }
}
