//! The conformance suite for all kinds of read-write locks. A new kind takes part as soon as `RwLockKind::visit` knows it.

mod conformance;
mod forks;
mod pair;
mod recursion;
mod stress;

use unspin_locks::rw::RwLockVisitor;
use unspin_locks::{RawRwLock, RwLockKind};

/// A property that every lock must have.
trait Property {
    /// Panics if lock `L` does not have the property.
    fn check<L: RawRwLock>();
}

/// Checks all kinds that this crate implements.
fn check<P: Property>() {
    struct One<P>(RwLockKind, core::marker::PhantomData<P>);
    impl<P: Property> RwLockVisitor for One<P> {
        type Output = ();
        fn visit<L: RawRwLock>(self) {
            println!("{}", self.0);
            P::check::<L>();
        }
    }
    // Both fences of a biased lock are tested: the tests of this program run in any order.
    unspin_locks::rw::use_membarrier();
    let kinds = RwLockKind::ALL.into_iter();
    let visited =
        kinds.filter(|&kind| kind.visit(One(kind, core::marker::PhantomData::<P>)).is_some()).count();
    assert!(visited >= 3, "only {visited} kinds were checked");
}
