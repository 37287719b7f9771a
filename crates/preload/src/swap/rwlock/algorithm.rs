//! The read-write locks of `unspin-locks` as a table of operations. Each takes the `pthread_rwlock_t` that contains the lock.

use crate::glibc::rwlock::RwLockLayout;
use unspin_locks::rw::RwBiased;
use unspin_locks::{RawRwLock, Recursion, Refused, RwLockKind, Until, Waited};

/// The operations of one kind of lock.
///
/// Each function requires a `pthread_rwlock_t` that contains a lock of this kind.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// [`RawRwLock::try_read`].
    pub try_read: fn(&RwLockLayout, Recursion) -> Result<(), Refused>,
    /// [`RawRwLock::read_now`].
    pub read_now: fn(&RwLockLayout, Recursion) -> Result<(), Refused>,
    /// [`RawRwLock::read`].
    pub read: fn(&RwLockLayout, Recursion, Option<Until>) -> Result<Waited, Refused>,
    /// [`RawRwLock::try_write`].
    pub try_write: fn(&RwLockLayout) -> bool,
    /// [`RawRwLock::write`].
    pub write: fn(&RwLockLayout, Option<Until>) -> Option<Waited>,
    /// [`RawRwLock::unlock_read`].
    pub unlock_read: unsafe fn(&RwLockLayout),
    /// [`RawRwLock::unlock_write`].
    pub unlock_write: unsafe fn(&RwLockLayout),
    /// [`RawRwLock::is_write_locked`].
    pub is_write_locked: fn(&RwLockLayout) -> bool,
    /// [`RawRwLock::readers`].
    pub readers: fn(&RwLockLayout) -> u32,
    /// The type name of the lock.
    #[cfg(test)]
    name: fn() -> &'static str,
}

impl Algorithm {
    /// The operations of a kind; `None` for the kind that libc implements.
    pub const fn of(kind: RwLockKind) -> Option<&'static Algorithm> {
        BY_KIND[kind as usize].as_ref()
    }

    const fn new<L: RawRwLock>() -> Option<Algorithm> {
        Some(Algorithm {
            try_read: |lock, recursion| lock.lock_in_place::<L>().try_read(recursion),
            read_now: |lock, recursion| lock.lock_in_place::<L>().read_now(recursion),
            read: |lock, recursion, until| lock.lock_in_place::<L>().read(recursion, until),
            try_write: |lock| lock.lock_in_place::<L>().try_write(),
            write: |lock, until| lock.lock_in_place::<L>().write(until),
            unlock_read: unlock_read::<L>,
            unlock_write: unlock_write::<L>,
            is_write_locked: |lock| lock.lock_in_place::<L>().is_write_locked(),
            readers: |lock| lock.lock_in_place::<L>().readers(),
            #[cfg(test)]
            name: core::any::type_name::<L>,
        })
    }
}

/// [`RawRwLock::unlock_read`] of the lock in this `pthread_rwlock_t`.
///
/// # Safety
/// As for [`RawRwLock::unlock_read`].
unsafe fn unlock_read<L: RawRwLock>(lock: &RwLockLayout) {
    // SAFETY: the caller's promise.
    unsafe { lock.lock_in_place::<L>().unlock_read() }
}

/// [`RawRwLock::unlock_write`], likewise.
///
/// # Safety
/// As for [`RawRwLock::unlock_write`].
unsafe fn unlock_write<L: RawRwLock>(lock: &RwLockLayout) {
    // SAFETY: the caller's promise.
    unsafe { lock.lock_in_place::<L>().unlock_write() }
}

/// The lock of the fast path.
pub type Fast = RwBiased;

/// The operations of a lock of the table.
macro_rules! operations {
    ((libc)) => {
        None
    };
    (($lock:ident)) => {
        Algorithm::new::<unspin_locks::rw::$lock>()
    };
}

macro_rules! define_by_kind {
    ($(
        $(#[$doc:meta])*
        $variant:ident $name:literal { lock: $lock:tt, $($property:ident: $value:expr),+ $(,)? }
    )+) => {
        /// In the order of [`RwLockKind::ALL`].
        static BY_KIND: [Option<Algorithm>; RwLockKind::ALL.len()] = [$(operations!($lock),)+];
    };
}

unspin_locks::for_each_rw_lock_kind!(define_by_kind);

#[cfg(test)]
mod tests {
    use super::super::tag::FAST_KIND;
    use super::*;
    use unspin_locks::rw::RwLockVisitor;

    /// Returns the type name of the lock that `unspin-locks` has for a kind.
    struct Named;

    impl RwLockVisitor for Named {
        type Output = &'static str;

        fn visit<L: RawRwLock>(self) -> &'static str {
            core::any::type_name::<L>()
        }
    }

    #[test]
    fn each_kind_has_its_own() {
        for kind in RwLockKind::ALL {
            assert_eq!(Algorithm::of(kind).map(|algorithm| (algorithm.name)()), kind.visit(Named), "{kind}");
        }
    }

    #[test]
    fn lock_of_the_fast_path_is_that_of_its_kind() {
        assert_eq!(FAST_KIND.visit(Named), Some(core::any::type_name::<Fast>()));
    }
}
