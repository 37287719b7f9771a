//! The *tag*: the decision for a mutex, stored in the mutex itself. It consists of sixteen bits at `__elision`. glibc
//! uses them only where it elides locks, and such mutexes stay libc's.
//!
//! | bits | meaning |
//! |---|---|
//! | 0–3 | the implementation: an index into [`LockKind::ALL`], of which [`LockKind::System`] means libc |
//! | 4–5 | its type, one of [`Type`] |
//! | 6–7 | 0 |
//! | 8–15 | [`MAGIC`], so that nothing that libc may leave there is a tag |
//!
//! Written once in a mutex's life, by the thread that initialises it or uses it first; and once more if the mutex is handed
//! to libc. Any value that is not a tag
//! means that nothing was decided; so does zero, the value of a static initialiser.

use crate::glibc::mutex::{INHERITS, MutexLayout};
use unspin_locks::LockKind;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The value of the tag; see the module documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag(u16);

/// What happens if the owner locks the mutex again, and if another thread unlocks it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// Locking again blocks; any thread may unlock. PTHREAD_MUTEX_NORMAL, and PTHREAD_MUTEX_ADAPTIVE_NP, which differs
    /// only in how threads wait.
    Normal,
    /// Locking again counts.
    Recursive,
    /// Both are refused.
    ErrorCheck,
}

impl Type {
    /// All of them.
    pub const ALL: [Type; 3] = [Type::Normal, Type::Recursive, Type::ErrorCheck];
}

/// The kind of lock for which there is a fast path.
pub const FAST_KIND: LockKind = LockKind::Adaptive;

const MAGIC: u16 = 0xB5 << 8;

impl Tag {
    /// Nothing was decided.
    pub const NONE: Tag = Tag(0);
    /// The mutex stays libc's.
    pub const LIBC: Tag = Tag::new(LockKind::System, Type::Normal);
    /// The tag for which the fast path checks.
    pub const FAST: Tag = Tag::new(FAST_KIND, Type::Normal);

    /// The tag of a mutex of this type that is replaced by a lock of this kind.
    pub const fn new(kind: LockKind, of: Type) -> Tag {
        Tag(MAGIC | (of as u16) << 4 | kind as u16)
    }

    /// The tag of this mutex, or whatever its sixteen bits contain.
    #[inline(always)]
    pub fn of(mutex: &MutexLayout) -> Tag {
        // Acquire: partner of the Release in `move_to_libc`.
        Tag(mutex.tag().load(Acquire))
    }

    /// Stores the decision, and returns it. If another thread has replaced `seen` meanwhile, returns that thread's
    /// decision as an error: it holds.
    pub fn decide(mutex: &MutexLayout, seen: Tag, decision: Tag) -> Result<Tag, Tag> {
        // Relaxed, here and in `forget`: only the tag itself is published. Acquire: as in `of`.
        let exchanged = mutex.tag().compare_exchange(seen.0, decision.0, Relaxed, Acquire);
        exchanged.map(|_| decision).map_err(Tag)
    }

    /// The mutex is libc's from now on. To be called by a thread that has the lock in it, or knows that no thread has it.
    pub fn move_to_libc(mutex: &MutexLayout) {
        // Release: partner of the Acquire in `of`: a thread that reads the tag may acquire libc's lock before this one does, and
        // sees what the last owner of our lock has written.
        mutex.tag().store(Tag::LIBC.0, Release);
    }

    /// Removes the decision.
    pub fn forget(mutex: &MutexLayout) {
        mutex.tag().store(Tag::NONE.0, Relaxed);
    }

    /// Whether the value is a tag: a decision was made.
    #[inline(always)]
    pub const fn is_valid(self) -> bool {
        self.0 & !(Tag::VALUES as u16 - 1) == MAGIC
    }

    /// The kind that serves the mutex; none if nothing was decided.
    pub fn kind(self) -> Option<LockKind> {
        self.is_valid().then(|| LockKind::ALL.get(usize::from(self.0 & 15)).copied()).flatten()
    }

    /// Number of different values of [`Tag::index`].
    pub const VALUES: usize = 64;

    /// A number that is different for different tags.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize % Tag::VALUES
    }
}

const _: () = assert!(LockKind::ALL.len() <= 16 && Type::ALL.len() <= 4);

/// The properties of a mutex, from its `__kind`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MutexKind {
    /// Private, not robust, without a protocol.
    Plain(Type),
    /// As `Plain`, but with PTHREAD_PRIO_INHERIT.
    Inheriting(Type),
    /// Robust, shared between processes, with a priority ceiling, elided, destroyed, or a value that no glibc writes.
    Other,
}

/// PTHREAD_MUTEX_NO_ELISION_NP: what pthread_mutexattr_settype(3) adds to PTHREAD_MUTEX_NORMAL.
const NO_ELISION: u32 = 512;

impl MutexKind {
    /// The properties of this mutex.
    pub fn of(mutex: &MutexLayout) -> MutexKind {
        MutexKind::from_word(mutex.kind())
    }

    /// The properties of a mutex with this `__kind`.
    fn from_word(kind: u32) -> MutexKind {
        let of = match kind & 3 {
            1 => Type::Recursive,
            2 => Type::ErrorCheck,
            _ => Type::Normal,
        };
        match kind & !(3 | NO_ELISION) {
            0 => MutexKind::Plain(of),
            INHERITS => MutexKind::Inheriting(of),
            _ => MutexKind::Other,
        }
    }

    /// The tag of a mutex with these properties for which this kind was chosen.
    pub fn tag(self, chosen: LockKind) -> Tag {
        match self {
            MutexKind::Plain(of) => Tag::new(chosen, of),
            // The mutex already behaves as `LockKind::Pi`.
            MutexKind::Inheriting(of) if chosen.inherits_priority() && chosen != LockKind::Pi => {
                Tag::new(chosen, of)
            }
            MutexKind::Inheriting(_) | MutexKind::Other => Tag::LIBC,
        }
    }

    /// Whether a mutex with these properties stays libc's although this kind was chosen for it.
    pub fn stays_libcs(self, chosen: LockKind) -> bool {
        match self {
            _ if chosen == LockKind::System => false,
            MutexKind::Plain(_) => false,
            MutexKind::Inheriting(_) => !chosen.inherits_priority(),
            MutexKind::Other => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn tags_differ() {
        let tags = LockKind::ALL.iter().flat_map(|&kind| Type::ALL.map(|of| Tag::new(kind, of)));
        let indices: BTreeSet<usize> = tags.clone().map(Tag::index).collect();
        assert!(tags.clone().all(Tag::is_valid));
        assert_eq!(indices.len(), tags.count());
    }

    /// glibc stores small numbers there and counts down from them.
    #[test]
    fn values_of_libc_are_no_tags() {
        for left in (0..=64).chain(0xFFC0..=0xFFFF).chain([MAGIC | 0x40, MAGIC | 0x80]) {
            assert!(!Tag(left).is_valid(), "{left:#x}");
        }
    }

    #[test]
    fn only_plain_mutexes_are_replaced() {
        for (kind, expected) in [
            (0, MutexKind::Plain(Type::Normal)),
            (1, MutexKind::Plain(Type::Recursive)),
            (2, MutexKind::Plain(Type::ErrorCheck)),
            (3, MutexKind::Plain(Type::Normal)),
            (512, MutexKind::Plain(Type::Normal)),
            (33, MutexKind::Inheriting(Type::Recursive)),
            (16, MutexKind::Other),
            (48, MutexKind::Other),
            (64, MutexKind::Other),
            (128, MutexKind::Other),
            (160, MutexKind::Other),
            (256, MutexKind::Other),
            (u32::MAX, MutexKind::Other),
        ] {
            assert_eq!(MutexKind::from_word(kind), expected, "{kind}");
        }
        let inheriting = MutexKind::Inheriting(Type::Normal);
        assert_eq!(inheriting.tag(LockKind::Adaptive), Tag::LIBC);
        assert_eq!(inheriting.tag(LockKind::RtFair), Tag::new(LockKind::RtFair, Type::Normal));
        assert_eq!(MutexKind::Other.tag(LockKind::RtFair), Tag::LIBC);
        assert_eq!(MutexKind::Plain(Type::Normal).tag(LockKind::Adaptive), Tag::FAST);
        let stay = |kind| {
            [LockKind::System, LockKind::Pi, LockKind::Adaptive].map(|c| MutexKind::stays_libcs(kind, c))
        };
        assert_eq!(stay(MutexKind::Plain(Type::Normal)), [false; 3]);
        assert_eq!(stay(inheriting), [false, false, true]);
        assert_eq!(stay(MutexKind::Other), [false, true, true]);
    }
}
