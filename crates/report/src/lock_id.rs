//! What two recordings must agree in for a row of one to be the same lock as a row of the other.

use crate::lock::{Lock, LockUse};
use std::fmt;

/// The identity of a row of locks across recordings: one name may belong to several rows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LockId {
    name: String,
    /// The kind of use, if it is unusual and the only one: `(mutex and condition)`.
    mark: Option<&'static str>,
    /// How the name is known, as [`Lock::origin`].
    origin: Option<String>,
}

impl Lock {
    /// The lock's identity.
    pub fn id(&self) -> LockId {
        LockId { name: self.row.name.clone(), mark: self.only_mark(), origin: self.origin.clone() }
    }

    /// The mark of the kind of use, if it is unusual and the only one.
    pub(crate) fn only_mark(&self) -> Option<&'static str> {
        match self.uses[..] {
            [LockUse { kind, .. }] => kind.mark(),
            _ => None,
        }
    }
}

impl LockId {
    /// The name as in the table, without the origin: `queue::lock (mutex and condition)`.
    pub fn short(&self) -> String {
        match self.mark {
            Some(mark) => format!("{} {mark}", self.name),
            None => self.name.clone(),
        }
    }

    /// The name that distinguishes it from all of `others`: with the origin where another one has the same name.
    pub fn among(&self, others: &[LockId]) -> String {
        let is_shared = others.iter().any(|other| other != self && other.short() == self.short());
        if is_shared { self.to_string() } else { self.short() }
    }
}

/// With the origin: `queue::lock, initialised at queue.cc:57`.
impl fmt::Display for LockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())?;
        self.origin.iter().try_for_each(|origin| write!(f, ", {origin}"))
    }
}
