//! The kinds of mutex by name.

use crate::{Adaptive, Fair, Mcs, RawLock, RtAdaptive, RtFair, RtSteal, Steal, Ticket, Ttas};
use core::fmt;
use core::str::FromStr;

/// What a program's mutexes can be replaced by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// libc's own, through the same interposition as all others: the control.
    System,
    /// libc's own, with PTHREAD_PRIO_INHERIT: what a program pays that asks for it.
    Pi,
    /// Test-and-test-and-set. For study.
    Ttas,
    /// Tickets: FIFO, spinning. For study.
    Ticket,
    /// The queue of Mellor-Crummey and Scott: FIFO, each spinning on a word of its own. For study.
    Mcs,
    /// Strict FIFO hand-off, asleep: report 004's "before".
    Fair,
    /// Whoever comes while it is free takes it, whoever waits for it.
    Steal,
    /// [`Kind::Steal`] and spinning as long as that pays.
    Adaptive,
    /// Priority inheritance and strict order for all.
    RtFair,
    /// Priority inheritance and strict order for real-time threads; the others steal.
    RtSteal,
    /// [`Kind::RtSteal`] and spinning as long as that pays.
    RtAdaptive,
}

impl Kind {
    /// All of them, the control first.
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

    /// Its name on command lines and in plans.
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

    /// Whether it inherits priorities, so that it may stand in for a PTHREAD_PRIO_INHERIT mutex too.
    pub const fn inherits(self) -> bool {
        matches!(self, Kind::Pi | Kind::RtFair | Kind::RtSteal | Kind::RtAdaptive)
    }

    /// Whether its waiters spin without an end: it collapses when threads outnumber CPUs, because who is next, or who
    /// holds it, is not on a CPU while the others burn theirs.
    pub const fn is_for_study(self) -> bool {
        matches!(self, Kind::Ttas | Kind::Ticket | Kind::Mcs)
    }

    /// Shows the visitor the lock of this kind; None for those that are libc's.
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

/// Something to be done with a lock whose kind is known only when the program runs.
pub trait Visitor {
    /// What comes of it.
    type Answer;

    /// Does it.
    fn visit<L: RawLock>(self) -> Self::Answer;
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no kind's.
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
