//! The kinds of read-write lock, by name. Their table is `for_each_rw_lock_kind`.

use super::RawRwLock;
use core::fmt;
use core::str::FromStr;

/// From the table of kinds: the enum, the list of all, the properties, and the choice of the lock type.
macro_rules! define_kinds {
    ($(
        $(#[doc = $doc:literal])+
        $variant:ident $name:literal { lock: $lock:tt, search_rank: $rank:expr, note: $note:expr $(,)? }
    )+) => {
        /// A replacement for a program's read-write locks.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum RwLockKind {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl RwLockKind {
            /// All kinds; the control first.
            pub const ALL: [RwLockKind; ROWS.len()] = [$(RwLockKind::$variant,)+];

            /// Calls the visitor with the lock type of this kind. Returns `None` for libc's.
            pub fn visit<V: RwLockVisitor>(self, visitor: V) -> Option<V::Output> {
                match self {
                    $(RwLockKind::$variant => visit_lock!(visitor, $lock),)+
                }
            }
        }

        /// In the order of the variants.
        const ROWS: &[Row] = &[$(Row { name: $name, search_rank: $rank, note: $note },)+];
    };
}

/// Calls the visitor with a lock type of the table.
macro_rules! visit_lock {
    ($visitor:ident, (libc)) => {
        None
    };
    ($visitor:ident, ($lock:ident)) => {
        Some($visitor.visit::<crate::rw::$lock>())
    };
}

crate::for_each_rw_lock_kind!(define_kinds);

/// The properties of a kind.
struct Row {
    name: &'static str,
    search_rank: Option<u8>,
    note: Option<&'static str>,
}

impl RwLockKind {
    /// The name on command lines and in plans.
    pub const fn name(self) -> &'static str {
        ROWS[self as usize].name
    }

    /// What a list of kinds adds in brackets to the name.
    pub const fn note(self) -> Option<&'static str> {
        ROWS[self as usize].note
    }

    /// What the lock does while threads wait for it, for readers who do not know its name.
    pub const fn summary(self) -> &'static str {
        match self {
            RwLockKind::System => "libc's own",
            RwLockKind::Fair => "readers and writers get it in turns",
            RwLockKind::Writer => "writers first; readers that wait get it together",
            RwLockKind::Biased => {
                "writers first; readers do not write to a shared cache line, and a writer has to look at each reader"
            }
        }
    }

    /// The kinds that a search for candidates tries, the most promising first.
    pub fn search_order() -> Vec<RwLockKind> {
        let rank = |kind: RwLockKind| ROWS[kind as usize].search_rank;
        let mut kinds: Vec<RwLockKind> =
            RwLockKind::ALL.into_iter().filter(|&kind| rank(kind).is_some()).collect();
        kinds.sort_by_key(|&kind| rank(kind));
        kinds
    }
}

/// A generic operation on a lock type that is chosen at run time.
pub trait RwLockVisitor {
    /// The result of the operation.
    type Output;

    /// Runs the operation for lock type `L`.
    fn visit<L: RawRwLock>(self) -> Self::Output;
}

impl fmt::Display for RwLockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Error: the name belongs to no kind of read-write lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownRwLockKind;

impl FromStr for RwLockKind {
    type Err = UnknownRwLockKind;

    fn from_str(name: &str) -> Result<RwLockKind, UnknownRwLockKind> {
        RwLockKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or(UnknownRwLockKind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_names_parse_back() {
        for kind in RwLockKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert_eq!("rw-fai".parse::<RwLockKind>(), Err(UnknownRwLockKind));
    }
}
