//! Kinds of locks of all families, and the locks that they can replace.

use serde::Serializer;
use unspin_launch::plan::kind::{AnyKind, KindOfFamily};
use unspin_launch::plan::{Entry, LockName, Plan, Which};
use unspin_locks::{LockKind, RwLockKind, SpinKind};
use unspin_report::Lock;
use unspin_wire::plan::LockFamily;

/// The kinds of a family that a search for candidates tries, the most promising first.
pub fn search_order(family: LockFamily) -> Vec<AnyKind> {
    match family {
        LockFamily::Mutex => LockKind::search_order().into_iter().map(LockKind::any).collect(),
        LockFamily::RwLock => RwLockKind::search_order().into_iter().map(RwLockKind::any).collect(),
        LockFamily::Spin => vec![SpinKind::Adaptive.any()],
    }
}

/// A kind for some locks of its family, as a plan with the name of the candidate.
pub fn candidate(kind: AnyKind, which: Which<LockName>) -> (String, Plan) {
    let entry = Entry { kind, which };
    (entry.to_string(), Plan::of(entry))
}

/// In JSON the family has the name of its option.
pub fn serialize_family<S: Serializer>(family: &LockFamily, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(family.word().unwrap_or("mutex"))
}

/// The family of a lock that can be replaced; none for the others.
pub fn family(lock: &Lock) -> Option<LockFamily> {
    let family = lock.uses.iter().find_map(|one| one.kind.family())?;
    lock.property.is_none().then_some(family)
}

/// Seconds that threads waited for the lock as one of this family.
pub fn lost_as(lock: &Lock, family: LockFamily) -> f64 {
    let uses = lock.uses.iter().filter(|one| one.kind.family() == Some(family));
    // Starts from 0 because the sum of no floating-point numbers is -0.
    uses.fold(0.0, |sum, one| sum + one.row.lost)
}
