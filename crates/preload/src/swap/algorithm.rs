//! The locks of `unspin-locks` as a table: what can be done with each, by the address of the mutex that holds it.

use super::body::Body;
use unspin_locks::{
    Adaptive, Fair, Kind, Mcs, RawLock, RtAdaptive, RtFair, RtSteal, Steal, Ticket, Ttas, Until, Waited,
};

/// What can be done with a lock of one kind.
///
/// Its functions want a body in which this kind of lock lies.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// [`RawLock::try_lock`].
    pub try_lock: fn(&Body) -> bool,
    /// [`RawLock::lock`].
    pub lock: fn(&Body) -> Waited,
    /// [`RawLock::lock_until`].
    pub lock_until: fn(&Body, Until) -> Option<Waited>,
    /// [`RawLock::unlock`].
    pub unlock: unsafe fn(&Body),
    /// [`RawLock::is_locked`].
    pub is_locked: fn(&Body) -> bool,
    /// Which lock it is.
    #[cfg(test)]
    name: fn() -> &'static str,
}

impl Algorithm {
    /// That of a kind; none for those that are libc's own.
    pub const fn of(kind: Kind) -> Option<&'static Algorithm> {
        BY_KIND[kind as usize].as_ref()
    }

    const fn new<L: RawLock>() -> Option<Algorithm> {
        Some(Algorithm {
            try_lock: |body| body.lock::<L>().try_lock(),
            lock: |body| body.lock::<L>().lock(&mut L::Node::default()),
            lock_until: |body, until| body.lock::<L>().lock_until(&mut L::Node::default(), until),
            unlock: unlock::<L>,
            is_locked: |body| body.lock::<L>().is_locked(),
            #[cfg(test)]
            name: core::any::type_name::<L>,
        })
    }
}

/// # Safety
/// As for [`RawLock::unlock`].
unsafe fn unlock<L: RawLock>(body: &Body) {
    // SAFETY: the caller's promise.
    unsafe { body.lock::<L>().unlock() }
}

/// The lock of the fast path.
pub type Fast = Adaptive;

/// In the order of [`Kind::ALL`].
static BY_KIND: [Option<Algorithm>; Kind::ALL.len()] = [
    None,
    None,
    Algorithm::new::<Ttas>(),
    Algorithm::new::<Ticket>(),
    Algorithm::new::<Mcs>(),
    Algorithm::new::<Fair>(),
    Algorithm::new::<Steal>(),
    Algorithm::new::<Fast>(),
    Algorithm::new::<RtFair>(),
    Algorithm::new::<RtSteal>(),
    Algorithm::new::<RtAdaptive>(),
];

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_locks::Visitor;

    /// Tells which lock the crate has under a name.
    struct Named;

    impl Visitor for Named {
        type Answer = &'static str;

        fn visit<L: RawLock>(self) -> &'static str {
            core::any::type_name::<L>()
        }
    }

    #[test]
    fn each_kind_has_its_own() {
        for kind in Kind::ALL {
            assert_eq!(Algorithm::of(kind).map(|algorithm| (algorithm.name)()), kind.visit(Named), "{kind}");
        }
    }
}
