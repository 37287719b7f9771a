//! The locks of `unspin-locks` as a table of operations. Each takes the mutex that contains the lock.

use super::own_tally;
use crate::glibc::mutex::MutexLayout;
use unspin_locks::{Adaptive, LockKind, RawLock, Until, Waited};
use unspin_wire::plan::LockFamily;

/// The operations of one kind of lock.
///
/// Each function requires a mutex that contains a lock of this kind.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// [`RawLock::try_lock`].
    pub try_lock: fn(&MutexLayout) -> bool,
    /// [`RawLock::lock`].
    pub lock: fn(&MutexLayout) -> Waited,
    /// [`RawLock::lock_until`].
    pub lock_until: fn(&MutexLayout, Until) -> Option<Waited>,
    /// [`RawLock::unlock`].
    pub unlock: unsafe fn(&MutexLayout),
    /// [`RawLock::is_locked`].
    pub is_locked: fn(&MutexLayout) -> bool,
    /// The type name of the lock.
    #[cfg(test)]
    name: fn() -> &'static str,
}

impl Algorithm {
    /// The operations of a kind; `None` for the kinds that libc implements.
    pub const fn of(kind: LockKind) -> Option<&'static Algorithm> {
        BY_KIND[kind as usize].as_ref()
    }

    const fn new<L: RawLock>() -> Option<Algorithm> {
        Some(Algorithm {
            try_lock: |mutex| mutex.lock_in_place::<L>().try_lock(),
            lock: |mutex| noted(mutex.lock_in_place::<L>().lock(&mut L::Node::default())),
            lock_until: |mutex, until| {
                mutex.lock_in_place::<L>().lock_until(&mut L::Node::default(), until).map(noted)
            },
            unlock: unlock::<L>,
            is_locked: |mutex| mutex.lock_in_place::<L>().is_locked(),
            #[cfg(test)]
            name: core::any::type_name::<L>,
        })
    }
}

/// Notes how a thread has waited. Where the compiler sees that it has not, this is nothing.
#[inline(always)]
fn noted(waited: Waited) -> Waited {
    own_tally::note(LockFamily::Mutex, waited);
    waited
}

/// [`RawLock::unlock`] of the lock in this mutex.
///
/// # Safety
/// As for [`RawLock::unlock`].
unsafe fn unlock<L: RawLock>(mutex: &MutexLayout) {
    // SAFETY: the caller's promise.
    unsafe { mutex.lock_in_place::<L>().unlock() }
}

/// The lock of the fast path.
pub type Fast = Adaptive;

/// The operations of a lock of the table.
macro_rules! operations {
    ((libc)) => {
        None
    };
    (($module:ident::$lock:ident)) => {
        Algorithm::new::<unspin_locks::$lock>()
    };
}

macro_rules! define_by_kind {
    ($(
        $(#[$doc:meta])+
        $variant:ident $name:literal { lock: $lock:tt, $($property:ident: $value:expr),+ $(,)? }
    )+) => {
        /// In the order of [`LockKind::ALL`].
        static BY_KIND: [Option<Algorithm>; LockKind::ALL.len()] = [$(operations!($lock),)+];
    };
}

unspin_locks::for_each_lock_kind!(define_by_kind);

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_locks::LockVisitor;

    /// Returns the type name of the lock that `unspin-locks` has for a kind.
    struct Named;

    impl LockVisitor for Named {
        type Output = &'static str;

        fn visit<L: RawLock>(self) -> &'static str {
            core::any::type_name::<L>()
        }
    }

    #[test]
    fn each_kind_has_its_own() {
        for kind in LockKind::ALL {
            assert_eq!(Algorithm::of(kind).map(|algorithm| (algorithm.name)()), kind.visit(Named), "{kind}");
        }
    }
}
