//! The kinds of mutex, by name.

use crate::{Adaptive, Fair, Mcs, RawLock, RtAdaptive, RtFair, RtSteal, Steal, Ticket, Ttas};
use core::fmt;
use core::str::FromStr;

/// A replacement for a program's mutexes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LockKind {
    /// libc's mutex, reached through the same interposition as all other kinds: the control.
    System,
    /// libc's mutex with PTHREAD_PRIO_INHERIT: the cost for a program that requests it.
    Pi,
    /// Test-and-test-and-set. Experimental.
    Ttas,
    /// Ticket lock: FIFO, spinning. Experimental.
    Ticket,
    /// The MCS queue lock (Mellor-Crummey and Scott): FIFO, each waiter spins on its own word. Experimental.
    Mcs,
    /// Strict FIFO hand-off; waiters sleep. It has the "before" behaviour of Rostedt 2008.
    Fair,
    /// A thread that finds the lock free takes it, even if others wait; waiters sleep.
    Steal,
    /// [`LockKind::Steal`] with adaptive spinning.
    Adaptive,
    /// Priority inheritance and strict order for all threads.
    RtFair,
    /// Priority inheritance and strict order for real-time threads; the others may steal.
    RtSteal,
    /// [`LockKind::RtSteal`] with adaptive spinning.
    RtAdaptive,
}

impl LockKind {
    /// All kinds; the control first.
    pub const ALL: [LockKind; 11] = [
        LockKind::System,
        LockKind::Pi,
        LockKind::Ttas,
        LockKind::Ticket,
        LockKind::Mcs,
        LockKind::Fair,
        LockKind::Steal,
        LockKind::Adaptive,
        LockKind::RtFair,
        LockKind::RtSteal,
        LockKind::RtAdaptive,
    ];

    /// The name on command lines and in plans.
    pub const fn name(self) -> &'static str {
        match self {
            LockKind::System => "system",
            LockKind::Pi => "pi",
            LockKind::Ttas => "ttas",
            LockKind::Ticket => "ticket",
            LockKind::Mcs => "mcs",
            LockKind::Fair => "fair",
            LockKind::Steal => "steal",
            LockKind::Adaptive => "adaptive",
            LockKind::RtFair => "rt-fair",
            LockKind::RtSteal => "rt-steal",
            LockKind::RtAdaptive => "rt-adaptive",
        }
    }

    /// Whether the kind inherits priorities, so that it can replace a PTHREAD_PRIO_INHERIT mutex too.
    pub const fn inherits_priority(self) -> bool {
        matches!(self, LockKind::Pi | LockKind::RtFair | LockKind::RtSteal | LockKind::RtAdaptive)
    }

    /// Whether the kind is experimental: its waiters spin without a limit. Such a lock collapses when threads outnumber
    /// CPUs, because the owner or the next waiter may not be on a CPU while the other waiters keep all CPUs busy.
    pub const fn is_experimental(self) -> bool {
        matches!(self, LockKind::Ttas | LockKind::Ticket | LockKind::Mcs)
    }

    /// Calls the visitor with the lock type of this kind. Returns `None` for libc's kinds.
    pub fn visit<V: LockVisitor>(self, visitor: V) -> Option<V::Output> {
        Some(match self {
            LockKind::System | LockKind::Pi => return None,
            LockKind::Ttas => visitor.visit::<Ttas>(),
            LockKind::Ticket => visitor.visit::<Ticket>(),
            LockKind::Mcs => visitor.visit::<Mcs>(),
            LockKind::Fair => visitor.visit::<Fair>(),
            LockKind::Steal => visitor.visit::<Steal>(),
            LockKind::Adaptive => visitor.visit::<Adaptive>(),
            LockKind::RtFair => visitor.visit::<RtFair>(),
            LockKind::RtSteal => visitor.visit::<RtSteal>(),
            LockKind::RtAdaptive => visitor.visit::<RtAdaptive>(),
        })
    }
}

/// A generic operation on a lock type that is chosen at run time.
pub trait LockVisitor {
    /// The result of the operation.
    type Output;

    /// Runs the operation for lock type `L`.
    fn visit<L: RawLock>(self) -> Self::Output;
}

impl fmt::Display for LockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Error: the name belongs to no kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownLockKind;

impl FromStr for LockKind {
    type Err = UnknownLockKind;

    fn from_str(name: &str) -> Result<LockKind, UnknownLockKind> {
        LockKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or(UnknownLockKind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_names_parse_back() {
        for kind in LockKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert_eq!("adaptiv".parse::<LockKind>(), Err(UnknownLockKind));
    }
}
