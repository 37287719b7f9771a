//! The families of locks that a plan can replace, and the kinds of all of them.

use core::fmt;
use core::str::FromStr;

/// A family of locks. Each has kinds of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LockFamily {
    /// `pthread_mutex_t`.
    Mutex,
    /// `pthread_rwlock_t`.
    RwLock,
    /// `pthread_spinlock_t`.
    Spin,
}

impl LockFamily {
    /// Every family.
    pub const ALL: [LockFamily; 3] = [LockFamily::Mutex, LockFamily::RwLock, LockFamily::Spin];

    /// The word before the kind in compiled plans. Lines for mutexes have none.
    pub const fn word(self) -> Option<&'static str> {
        match self {
            LockFamily::Mutex => None,
            LockFamily::RwLock => Some("rwlock"),
            LockFamily::Spin => Some("spin"),
        }
    }

    /// The family with this word.
    pub fn from_word(word: &[u8]) -> Option<LockFamily> {
        LockFamily::ALL.into_iter().find(|family| family.word().is_some_and(|own| own.as_bytes() == word))
    }

    /// What messages call one lock.
    pub const fn noun(self) -> &'static str {
        match self {
            LockFamily::Mutex => "mutex",
            LockFamily::RwLock => "read-write lock",
            LockFamily::Spin => "spin lock",
        }
    }

    /// What messages call several locks.
    pub const fn nouns(self) -> &'static str {
        match self {
            LockFamily::Mutex => "mutexes",
            LockFamily::RwLock => "read-write locks",
            LockFamily::Spin => "spin locks",
        }
    }

    /// The noun in the names that the meter prints: `rwlock first used in poll`.
    pub const fn noun_in_names(self) -> &'static str {
        match self {
            LockFamily::RwLock => "rwlock",
            LockFamily::Mutex | LockFamily::Spin => self.noun(),
        }
    }

    /// The option of `unspin run` for its kinds.
    pub const fn option(self) -> &'static str {
        match self {
            LockFamily::Mutex => "--mutex",
            LockFamily::RwLock => "--rwlock",
            LockFamily::Spin => "--spin",
        }
    }

    /// The name of its tables in plan files.
    pub const fn table(self) -> &'static str {
        match self {
            LockFamily::Mutex => "mutex",
            LockFamily::RwLock => "rwlock",
            LockFamily::Spin => "spin",
        }
    }

    /// Whether its locks need no initialisation, so that one can be recognised by its first use.
    pub const fn has_first_use(self) -> bool {
        // A spin lock has no static initialiser (pthread_spin_init(3)).
        !matches!(self, LockFamily::Spin)
    }
}

/// A kind of lock, of any family: `M` of mutexes, `R` of read-write locks, `S` of spin locks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AnyKind<M, R, S> {
    /// For mutexes.
    Mutex(M),
    /// For read-write locks.
    RwLock(R),
    /// For spin locks.
    Spin(S),
}

impl<M, R, S> AnyKind<M, R, S> {
    /// The family whose locks it replaces.
    pub const fn family(&self) -> LockFamily {
        match self {
            AnyKind::Mutex(_) => LockFamily::Mutex,
            AnyKind::RwLock(_) => LockFamily::RwLock,
            AnyKind::Spin(_) => LockFamily::Spin,
        }
    }
}

impl<M: FromStr, R: FromStr, S: FromStr> AnyKind<M, R, S> {
    /// The kind of this name; none if the family has no such kind.
    pub fn named(family: LockFamily, name: &str) -> Option<AnyKind<M, R, S>> {
        match family {
            LockFamily::Mutex => name.parse().ok().map(AnyKind::Mutex),
            LockFamily::RwLock => name.parse().ok().map(AnyKind::RwLock),
            LockFamily::Spin => name.parse().ok().map(AnyKind::Spin),
        }
    }
}

/// The name of the kind, without the family.
impl<M: fmt::Display, R: fmt::Display, S: fmt::Display> fmt::Display for AnyKind<M, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyKind::Mutex(kind) => kind.fmt(f),
            AnyKind::RwLock(kind) => kind.fmt(f),
            AnyKind::Spin(kind) => kind.fmt(f),
        }
    }
}
