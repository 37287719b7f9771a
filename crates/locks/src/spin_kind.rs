//! The kinds of spin lock, by name.

use core::fmt;
use core::str::FromStr;

/// A replacement for a program's spin locks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SpinKind {
    /// libc's spin lock, reached through the same interposition: the control.
    System,
    /// Spins with back-off, and sleeps when the owner is not running.
    Adaptive,
}

impl SpinKind {
    /// All kinds; the control first.
    pub const ALL: [SpinKind; 2] = [SpinKind::System, SpinKind::Adaptive];

    /// The name on command lines and in plans.
    pub const fn name(self) -> &'static str {
        match self {
            SpinKind::System => "system",
            SpinKind::Adaptive => "adaptive",
        }
    }

    /// What a list of kinds adds in brackets to the name.
    pub const fn note(self) -> Option<&'static str> {
        match self {
            SpinKind::System => Some("libc's own, the control"),
            SpinKind::Adaptive => None,
        }
    }

    /// What the lock does while threads wait for it, for readers who do not know its name.
    pub const fn summary(self) -> &'static str {
        match self {
            SpinKind::System => "libc's own",
            SpinKind::Adaptive => "waiters spin with pauses, and sleep while the owner is not running",
        }
    }
}

impl fmt::Display for SpinKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Error: the name belongs to no kind of spin lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownSpinKind;

impl FromStr for SpinKind {
    type Err = UnknownSpinKind;

    fn from_str(name: &str) -> Result<SpinKind, UnknownSpinKind> {
        SpinKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or(UnknownSpinKind)
    }
}
