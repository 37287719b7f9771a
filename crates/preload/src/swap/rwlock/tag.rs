//! The *tag*: the decision for a read-write lock, stored in the lock itself. It consists of the upper sixteen bits of
//! `__pad4`, which glibc writes only where it initialises a lock.
//!
//! | bits | meaning |
//! |---|---|
//! | 0–3 | the implementation: an index into [`RwLockKind::ALL`], of which [`RwLockKind::System`] means libc |
//! | 4 | set if [`Recursion::Excluded`] |
//! | 5–7 | 0 |
//! | 8–15 | [`MAGIC`], so that nothing that a program may leave there is a tag |
//!
//! Written once in a lock's life, by the thread that initialises it or uses it first; and once more if the lock is handed
//! to libc. Any value that is not a tag means that nothing was decided; so does zero, the value of all initialisers.

use crate::glibc::rwlock::RwLockLayout;
use unspin_locks::{Recursion, RwLockKind};
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The value of the tag; see the module documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag(u16);

/// The kind of lock for which there is a fast path.
pub const FAST_KIND: RwLockKind = RwLockKind::Biased;

const MAGIC: u16 = 0xB6 << 8;

impl Tag {
    /// The lock stays libc's.
    pub const LIBC: Tag = Tag::new(RwLockKind::System, Recursion::Allowed);
    /// The tag for which the fast path checks.
    pub const FAST: Tag = Tag::new(FAST_KIND, Recursion::Allowed);

    /// The tag of a lock that is replaced by one of this kind.
    pub const fn new(kind: RwLockKind, recursion: Recursion) -> Tag {
        Tag(MAGIC | (recursion as u16) << 4 | kind as u16)
    }

    /// The tag of this lock, or whatever its sixteen bits contain.
    #[inline(always)]
    pub fn of(lock: &RwLockLayout) -> Tag {
        // Acquire: partner of the Release in `move_to_libc`.
        Tag(lock.tag().load(Acquire))
    }

    /// Stores the decision, and returns it. If another thread has replaced `seen` meanwhile, returns that thread's
    /// decision as an error: it holds.
    pub fn decide(lock: &RwLockLayout, seen: Tag, decision: Tag) -> Result<Tag, Tag> {
        // Relaxed: only the tag itself is published. Acquire: as in `of`.
        let exchanged = lock.tag().compare_exchange(seen.0, decision.0, Relaxed, Acquire);
        exchanged.map(|_| decision).map_err(Tag)
    }

    /// The lock is libc's from now on. To be called by a thread that has the lock in it for writing.
    pub fn move_to_libc(lock: &RwLockLayout) {
        // Release: partner of the Acquire in `of`: a thread that reads the tag acquires libc's lock, and sees what the
        // threads that had our lock have written.
        lock.tag().store(Tag::LIBC.0, Release);
    }

    /// Whether the value is a tag: a decision was made.
    #[inline(always)]
    pub const fn is_valid(self) -> bool {
        self.0 & !(Tag::VALUES as u16 - 1) == MAGIC
    }

    /// Number of different values of [`Tag::index`].
    pub const VALUES: usize = 32;

    /// A number that is different for different tags.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize % Tag::VALUES
    }
}

const _: () = assert!(RwLockKind::ALL.len() <= 16);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn tags_differ() {
        let rules = [Recursion::Allowed, Recursion::Excluded];
        let tags = RwLockKind::ALL.iter().flat_map(|&kind| rules.map(|recursion| Tag::new(kind, recursion)));
        let indices: BTreeSet<usize> = tags.clone().map(Tag::index).collect();
        assert!(tags.clone().all(Tag::is_valid));
        assert_eq!(indices.len(), tags.count());
    }

    #[test]
    fn other_values_are_no_tags() {
        for left in [0, 1, 0xFFFF, MAGIC | 0x20, MAGIC | 0x80, 0xB5 << 8] {
            assert!(!Tag(left).is_valid(), "{left:#x}");
        }
    }
}
