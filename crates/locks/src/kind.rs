//! The kinds of mutex, by name.

use crate::{Adaptive, Fair, Mcs, RawLock, RtAdaptive, RtFair, RtSteal, Steal, Ticket, Ttas};
use core::fmt;
use core::str::FromStr;

/// A replacement for a program's mutexes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
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
    /// [`Kind::Steal`] with adaptive spinning.
    Adaptive,
    /// Priority inheritance and strict order for all threads.
    RtFair,
    /// Priority inheritance and strict order for real-time threads; the others may steal.
    RtSteal,
    /// [`Kind::RtSteal`] with adaptive spinning.
    RtAdaptive,
}

impl Kind {
    /// All kinds; the control first.
    pub const ALL: [Kind; 11] = [
        Kind::System,
        Kind::Pi,
        Kind::Ttas,
        Kind::Ticket,
        Kind::Mcs,
        Kind::Fair,
        Kind::Steal,
        Kind::Adaptive,
        Kind::RtFair,
        Kind::RtSteal,
        Kind::RtAdaptive,
    ];

    /// The name on command lines and in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::System => "system",
            Kind::Pi => "pi",
            Kind::Ttas => "ttas",
            Kind::Ticket => "ticket",
            Kind::Mcs => "mcs",
            Kind::Fair => "fair",
            Kind::Steal => "steal",
            Kind::Adaptive => "adaptive",
            Kind::RtFair => "rt-fair",
            Kind::RtSteal => "rt-steal",
            Kind::RtAdaptive => "rt-adaptive",
        }
    }

    /// Whether the kind inherits priorities, so that it can replace a PTHREAD_PRIO_INHERIT mutex too.
    pub const fn inherits(self) -> bool {
        matches!(self, Kind::Pi | Kind::RtFair | Kind::RtSteal | Kind::RtAdaptive)
    }

    /// Whether the kind is experimental: its waiters spin without a limit. Such a lock collapses when threads outnumber
    /// CPUs, because the owner or the next waiter may not be on a CPU while the other waiters keep all CPUs busy.
    pub const fn is_for_study(self) -> bool {
        matches!(self, Kind::Ttas | Kind::Ticket | Kind::Mcs)
    }

    /// Calls the visitor with the lock type of this kind. Returns `None` for libc's kinds.
    pub fn visit<V: Visitor>(self, visitor: V) -> Option<V::Answer> {
        Some(match self {
            Kind::System | Kind::Pi => return None,
            Kind::Ttas => visitor.visit::<Ttas>(),
            Kind::Ticket => visitor.visit::<Ticket>(),
            Kind::Mcs => visitor.visit::<Mcs>(),
            Kind::Fair => visitor.visit::<Fair>(),
            Kind::Steal => visitor.visit::<Steal>(),
            Kind::Adaptive => visitor.visit::<Adaptive>(),
            Kind::RtFair => visitor.visit::<RtFair>(),
            Kind::RtSteal => visitor.visit::<RtSteal>(),
            Kind::RtAdaptive => visitor.visit::<RtAdaptive>(),
        })
    }
}

/// A generic operation on a lock type that is chosen at run time.
pub trait Visitor {
    /// The result of the operation.
    type Answer;

    /// Runs the operation for lock type `L`.
    fn visit<L: RawLock>(self) -> Self::Answer;
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Error: the name belongs to no kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownKind;

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Kind, UnknownKind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or(UnknownKind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert_eq!("adaptiv".parse::<Kind>(), Err(UnknownKind));
    }
}
