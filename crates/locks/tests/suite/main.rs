//! The conformance suite for all kinds of locks. A new lock takes part as soon as `LockKind::visit` knows it.

mod conformance;
mod forks;
mod guarded;
mod rw;
mod spin;
mod stress;

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use unspin_locks::{LockKind, LockVisitor, RawLock};

/// Tests that fork hold this alone, the others together: a child inherits a lock that the standard library holds while a thread
/// begins, and can create no thread then.
static FORKS: RwLock<()> = RwLock::new(());

/// Held by a test that creates threads.
fn beside_others() -> RwLockReadGuard<'static, ()> {
    FORKS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Held by a test that forks.
fn alone() -> RwLockWriteGuard<'static, ()> {
    let alone = FORKS.write().unwrap_or_else(PoisonError::into_inner);
    // The threads of tests that wait for it may have just been created.
    std::thread::sleep(std::time::Duration::from_millis(50));
    alone
}

/// A property that every lock must have.
trait Property {
    /// Panics if lock `L` does not have the property.
    fn check<L: RawLock>(kind: LockKind);
}

/// Checks all kinds that this crate implements.
fn check<P: Property>() {
    struct One<P>(LockKind, core::marker::PhantomData<P>);
    impl<P: Property> LockVisitor for One<P> {
        type Output = ();
        fn visit<L: RawLock>(self) {
            println!("{}", self.0);
            P::check::<L>(self.0);
        }
    }
    let visited = LockKind::ALL
        .into_iter()
        .filter(|&kind| kind.visit(One(kind, core::marker::PhantomData::<P>)).is_some())
        .count();
    assert!(visited >= 6, "only {visited} kinds were checked");
}
