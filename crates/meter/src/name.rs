//! What a row is called. The meter knows addresses only; whoever reports knows the rest.

use crate::event::Key;
use crate::snapshot::Image;

/// What a lock and a caller of it are called.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Name {
    /// The lock: `cache_lock`. Locks of one name are folded into one row.
    pub lock: String,
    /// How that is known and where it is: `static, cache.c:31`, or `initialised at queue.c:57`. Part of what is folded by:
    /// two locks of one name from two places are two.
    pub origin: Option<String>,
    /// The caller, as Lockmeter has it: `schedule+0xcc`.
    pub caller: String,
    /// Where that is: `sched.c:612`, or the callers of the caller.
    pub place: Option<String>,
}

impl From<(String, String)> for Name {
    fn from((lock, caller): (String, String)) -> Name {
        Name { lock, caller, ..Name::default() }
    }
}

/// Names a key of a process; none: it is shown as a number.
pub type Names<'a> = dyn Fn(&Image, &Key) -> Option<Name> + 'a;
