//! What was decided for a mutex, written into the mutex: sixteen bits at `__elision`, which glibc uses only where it elides
//! locks, and such mutexes stay its own.
//!
//! | bits | meaning |
//! |---|---|
//! | 0–3 | whose it is: an index into [`Kind::ALL`], of which [`Kind::System`] means libc |
//! | 4–5 | its type, one of [`Type`] |
//! | 6–7 | 0 |
//! | 8–15 | [`MAGIC`], so that what libc may leave there is no mark |
//!
//! Written once in a mutex's life, by whoever initialises it or uses it first. Anything that is no mark says that nothing
//! was decided; all zeroes, as a static initialiser leaves them, does.

use super::body::Body;
use unspin_locks::Kind;

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(u16);

/// What a mutex does about being taken by its owner, and released by others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// It blocks; anybody releases. PTHREAD_MUTEX_NORMAL, and PTHREAD_MUTEX_ADAPTIVE_NP, of which only the waiting is
    /// different.
    Normal,
    /// It counts.
    Recursive,
    /// It refuses.
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
    /// It stays libc's.
    pub const LIBC: Mark = Mark::new(Kind::System, Type::Normal);
    /// The one that the fast path looks for.
    pub const FAST: Mark = Mark::new(Kind::Adaptive, Type::Normal);

    /// A mutex of this type is replaced by that.
    pub const fn new(kind: Kind, of: Type) -> Mark {
        Mark(MAGIC | (of as u16) << 4 | kind as u16)
    }

    /// Whatever stands there.
    pub const fn from_bits(bits: u16) -> Mark {
        Mark(bits)
    }

    /// As it is written.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether it is a mark: something was decided.
    #[inline(always)]
    pub const fn is_one(self) -> bool {
        self.0 & !(Mark::VALUES as u16 - 1) == MAGIC
    }

    /// Marks by [`Mark::index`].
    pub const VALUES: usize = 64;

    /// What tells marks apart.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize % Mark::VALUES
    }
}

const _: () = assert!(Kind::ALL.len() <= 16 && Type::ALL.len() <= 4);

/// What `__kind` says of a mutex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nature {
    /// Private, not robust, without a protocol.
    Plain(Type),
    /// The same with PTHREAD_PRIO_INHERIT.
    Inheriting(Type),
    /// Robust, shared between processes, with a ceiling, elided, destroyed, or something that no glibc writes.
    Other,
}

/// PTHREAD_MUTEX_PRIO_INHERIT_NP in `__kind`.
pub const INHERITS: u32 = 32;
/// PTHREAD_MUTEX_NO_ELISION_NP: what pthread_mutexattr_settype(3) adds to PTHREAD_MUTEX_NORMAL.
const NO_ELISION: u32 = 512;

impl Nature {
    /// The nature of a mutex with this `__kind`.
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

    /// What becomes of a mutex for which that kind was chosen.
    pub fn mark(self, chosen: Kind) -> Mark {
        match self {
            Nature::Plain(of) => Mark::new(chosen, of),
            // `Kind::Pi` is what it is already.
            Nature::Inheriting(of) if chosen.inherits() && chosen != Kind::Pi => Mark::new(chosen, of),
            Nature::Inheriting(_) | Nature::Other => Mark::LIBC,
        }
    }
}

impl Body {
    /// What its `__kind` says.
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
        let marks = Kind::ALL.iter().flat_map(|&kind| Type::ALL.map(|of| Mark::new(kind, of)));
        let indices: BTreeSet<usize> = marks.clone().map(Mark::index).collect();
        assert!(marks.clone().all(Mark::is_one));
        assert_eq!(indices.len(), marks.count());
    }

    /// glibc counts down from small numbers there.
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
        assert_eq!(inheriting.mark(Kind::Adaptive), Mark::LIBC);
        assert_eq!(inheriting.mark(Kind::RtFair), Mark::new(Kind::RtFair, Type::Normal));
        assert_eq!(Nature::Other.mark(Kind::RtFair), Mark::LIBC);
        assert_eq!(Nature::Plain(Type::Normal).mark(Kind::Adaptive), Mark::FAST);
    }
}
