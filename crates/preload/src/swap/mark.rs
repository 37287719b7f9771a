//! The *mark*: the decision for a mutex, stored in the mutex itself. It consists of sixteen bits at `__elision`. glibc
//! uses them only where it elides locks, and such mutexes stay libc's.
//!
//! | bits | meaning |
//! |---|---|
//! | 0–3 | the implementation: an index into [`LockKind::ALL`], of which [`LockKind::System`] means libc |
//! | 4–5 | its type, one of [`Type`] |
//! | 6–7 | 0 |
//! | 8–15 | [`MAGIC`], so that nothing that libc may leave there is a mark |
//!
//! Written once in a mutex's life, by the thread that initialises it or uses it first. Any value that is not a mark
//! means that nothing was decided; so does zero, the value of a static initialiser.

use super::body::Body;
use unspin_locks::LockKind;

/// The value of the mark; see the module documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(u16);

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

const MAGIC: u16 = 0xB5 << 8;

impl Mark {
    /// Nothing was decided.
    pub const NONE: Mark = Mark(0);
    /// The mutex stays libc's.
    pub const LIBC: Mark = Mark::new(LockKind::System, Type::Normal);
    /// The mark for which the fast path checks.
    pub const FAST: Mark = Mark::new(LockKind::Adaptive, Type::Normal);

    /// The mark of a mutex of this type that is replaced by a lock of this kind.
    pub const fn new(kind: LockKind, of: Type) -> Mark {
        Mark(MAGIC | (of as u16) << 4 | kind as u16)
    }

    /// Any value of the sixteen bits.
    pub const fn from_bits(bits: u16) -> Mark {
        Mark(bits)
    }

    /// The value to be stored.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether the value is a mark: a decision was made.
    #[inline(always)]
    pub const fn is_one(self) -> bool {
        self.0 & !(Mark::VALUES as u16 - 1) == MAGIC
    }

    /// Number of different values of [`Mark::index`].
    pub const VALUES: usize = 64;

    /// A number that is different for different marks.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize % Mark::VALUES
    }
}

const _: () = assert!(LockKind::ALL.len() <= 16 && Type::ALL.len() <= 4);

/// The properties of a mutex, from its `__kind`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nature {
    /// Private, not robust, without a protocol.
    Plain(Type),
    /// As `Plain`, but with PTHREAD_PRIO_INHERIT.
    Inheriting(Type),
    /// Robust, shared between processes, with a priority ceiling, elided, destroyed, or a value that no glibc writes.
    Other,
}

/// PTHREAD_MUTEX_PRIO_INHERIT_NP in `__kind`.
pub const INHERITS: u32 = 32;
/// PTHREAD_MUTEX_NO_ELISION_NP: what pthread_mutexattr_settype(3) adds to PTHREAD_MUTEX_NORMAL.
const NO_ELISION: u32 = 512;

impl Nature {
    /// The properties of a mutex with this `__kind`.
    pub fn of(kind: u32) -> Nature {
        let of = match kind & 3 {
            1 => Type::Recursive,
            2 => Type::ErrorCheck,
            _ => Type::Normal,
        };
        match kind & !(3 | NO_ELISION) {
            0 => Nature::Plain(of),
            INHERITS => Nature::Inheriting(of),
            _ => Nature::Other,
        }
    }

    /// The mark of a mutex with these properties for which this kind was chosen.
    pub fn mark(self, chosen: LockKind) -> Mark {
        match self {
            Nature::Plain(of) => Mark::new(chosen, of),
            // The mutex already behaves as `LockKind::Pi`.
            Nature::Inheriting(of) if chosen.inherits_priority() && chosen != LockKind::Pi => {
                Mark::new(chosen, of)
            }
            Nature::Inheriting(_) | Nature::Other => Mark::LIBC,
        }
    }
}

impl Body {
    /// The properties of this mutex.
    pub fn nature(&self) -> Nature {
        Nature::of(self.kind())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn marks_are_told_apart() {
        let marks = LockKind::ALL.iter().flat_map(|&kind| Type::ALL.map(|of| Mark::new(kind, of)));
        let indices: BTreeSet<usize> = marks.clone().map(Mark::index).collect();
        assert!(marks.clone().all(Mark::is_one));
        assert_eq!(indices.len(), marks.count());
    }

    /// glibc stores small numbers there and counts down from them.
    #[test]
    fn what_libc_may_leave_is_no_mark() {
        for left in (0..=64).chain(0xFFC0..=0xFFFF).chain([MAGIC | 0x40, MAGIC | 0x80]) {
            assert!(!Mark::from_bits(left).is_one(), "{left:#x}");
        }
    }

    #[test]
    fn only_plain_mutexes_are_replaced() {
        for (kind, nature) in [
            (0, Nature::Plain(Type::Normal)),
            (1, Nature::Plain(Type::Recursive)),
            (2, Nature::Plain(Type::ErrorCheck)),
            (3, Nature::Plain(Type::Normal)),
            (512, Nature::Plain(Type::Normal)),
            (33, Nature::Inheriting(Type::Recursive)),
            (16, Nature::Other),
            (48, Nature::Other),
            (64, Nature::Other),
            (128, Nature::Other),
            (160, Nature::Other),
            (256, Nature::Other),
            (u32::MAX, Nature::Other),
        ] {
            assert_eq!(Nature::of(kind), nature, "{kind}");
        }
        let inheriting = Nature::Inheriting(Type::Normal);
        assert_eq!(inheriting.mark(LockKind::Adaptive), Mark::LIBC);
        assert_eq!(inheriting.mark(LockKind::RtFair), Mark::new(LockKind::RtFair, Type::Normal));
        assert_eq!(Nature::Other.mark(LockKind::RtFair), Mark::LIBC);
        assert_eq!(Nature::Plain(Type::Normal).mark(LockKind::Adaptive), Mark::FAST);
    }
}
