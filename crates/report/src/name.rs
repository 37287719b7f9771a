//! Names of locks and callers. The meter knows addresses only; the program that makes the report supplies the names.

use unspin_wire::{Image, Key};

/// The names of a lock and of one of its callers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Name {
    /// The lock: `cache_lock`. Locks of the same name and origin are folded into one row.
    pub lock: String,
    /// How the name is known and where the lock is: `static, cache.c:31`, or `initialised at queue.c:57`. Two locks
    /// of one name with different origins are not folded.
    pub origin: Option<String>,
    /// The caller, in Lockmeter's format: `schedule+0xcc`.
    pub caller: String,
    /// The caller's position: `sched.c:612`, or its own callers.
    pub place: Option<String>,
}

impl From<(String, String)> for Name {
    fn from((lock, caller): (String, String)) -> Name {
        Name { lock, caller, ..Name::default() }
    }
}

/// Returns the names of a key of a process. If it returns none, the key is shown as a number.
pub type Names<'a> = dyn Fn(&Image, &Key) -> Option<Name> + 'a;
