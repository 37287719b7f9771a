//! The kinds of mutex, by name, and their properties. Their table is `for_each_lock_kind`.

use crate::RawLock;
use core::fmt;
use core::str::FromStr;

/// From the table of kinds: the enum, the list of all, the properties, and the choice of the lock type.
macro_rules! define_kinds {
    ($(
        $(#[doc = $doc:literal])+
        $variant:ident $name:literal {
            lock: $lock:tt, order: $order:ident, waiters: $waiters:ident, inherits_priority: $inherits:literal,
            search_rank: $rank:expr, staircase: $staircase:expr, note: $note:expr $(,)?
        }
    )+) => {
        /// A replacement for a program's mutexes: its name, its lock type, and its properties.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum LockKind {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl LockKind {
            /// All kinds; the control first.
            pub const ALL: [LockKind; ROWS.len()] = [$(LockKind::$variant,)+];

            /// Calls the visitor with the lock type of this kind. Returns `None` for libc's kinds.
            pub fn visit<V: LockVisitor>(self, visitor: V) -> Option<V::Output> {
                match self {
                    $(LockKind::$variant => visit_lock!(visitor, $lock),)+
                }
            }
        }

        /// In the order of the variants.
        const ROWS: &[Row] = &[$(
            Row {
                name: $name,
                order: AcquisitionOrder::$order,
                waiters: WaitingMode::$waiters,
                inherits_priority: $inherits,
                search_rank: $rank,
                staircase: $staircase,
                note: $note,
            },
        )+];
    };
}

/// Calls the visitor with a lock type of the table.
macro_rules! visit_lock {
    ($visitor:ident, (libc)) => {
        None
    };
    ($visitor:ident, ($module:ident::$lock:ident)) => {
        Some($visitor.visit::<crate::$module::$lock>())
    };
}

crate::for_each_lock_kind!(define_kinds);

/// The properties of a kind.
struct Row {
    name: &'static str,
    order: AcquisitionOrder,
    waiters: WaitingMode,
    inherits_priority: bool,
    search_rank: Option<u8>,
    staircase: Option<Staircase>,
    note: Option<&'static str>,
}

/// Which thread acquires a lock that is released while threads wait for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AcquisitionOrder {
    /// Any thread that finds the lock free.
    Barging,
    /// The thread that waits first in the queue.
    HandOff,
}

/// How a waiter spends its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitingMode {
    /// It spins without a limit on a word that all waiters read.
    SpinOnLock,
    /// It spins without a limit on a word that only it reads.
    SpinOnOwnWord,
    /// It spins for a time that depends on a clock, then it sleeps.
    SpinThenSleep,
    /// It sleeps.
    Sleep,
}

/// A series of kinds, each of which adds one property to the kind before. The table has its steps in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Staircase {
    /// The kinds that inherit priorities.
    RealTime,
    /// The kinds that do not.
    Ordinary,
}

impl Staircase {
    /// All staircases.
    pub const ALL: [Staircase; 2] = [Staircase::RealTime, Staircase::Ordinary];
}

impl LockKind {
    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The name on command lines and in plans.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Which waiter acquires next.
    pub const fn acquisition_order(self) -> AcquisitionOrder {
        self.row().order
    }

    /// How a waiter spends its time.
    pub const fn waiting_mode(self) -> WaitingMode {
        self.row().waiters
    }

    /// Whether the kind inherits priorities, so that it can replace a PTHREAD_PRIO_INHERIT mutex too.
    pub const fn inherits_priority(self) -> bool {
        self.row().inherits_priority
    }

    /// Whether the kind is experimental: its waiters spin without a limit. Such a lock collapses when threads outnumber
    /// CPUs, because the owner or the next waiter may not be on a CPU while the other waiters keep all CPUs busy.
    pub const fn is_experimental(self) -> bool {
        matches!(self.waiting_mode(), WaitingMode::SpinOnLock | WaitingMode::SpinOnOwnWord)
    }

    /// The kinds that a search for candidates tries, the most promising first.
    pub fn search_order() -> Vec<LockKind> {
        let mut kinds: Vec<LockKind> =
            LockKind::ALL.into_iter().filter(|kind| kind.row().search_rank.is_some()).collect();
        kinds.sort_by_key(|kind| kind.row().search_rank);
        kinds
    }

    /// The kinds of a staircase, lowest step first.
    pub fn steps(staircase: Staircase) -> Vec<LockKind> {
        LockKind::ALL.into_iter().filter(|kind| kind.row().staircase == Some(staircase)).collect()
    }

    /// What a list of kinds adds in brackets to the name.
    pub const fn note(self) -> Option<&'static str> {
        self.row().note
    }

    /// What the lock does while threads wait for it, for readers who do not know its name.
    pub const fn summary(self) -> &'static str {
        match self {
            LockKind::System => "libc's own",
            LockKind::Pi => "libc's own; a waiter lends its priority to the owner",
            LockKind::Ttas => "waiters spin until they find it free, in no order",
            LockKind::Ticket => "waiters spin and get it in their order",
            LockKind::Mcs => "waiters spin, each on a word of its own, and get it in their order",
            LockKind::Fair => "waiters sleep and get it in their order",
            LockKind::Steal => {
                "a thread that finds it free takes it, even if others wait; waiters sleep, and none starves"
            }
            LockKind::Adaptive => {
                "a thread that finds it free takes it, even if others wait; waiters spin for a while before they sleep, and none \
                 starves"
            }
            LockKind::RtFair => {
                "waiters sleep and get it in the order of their priorities; a waiter lends its priority to the owner"
            }
            LockKind::RtSteal => {
                "only real-time threads wait in order, others may overtake; a waiter lends its priority to the owner"
            }
            LockKind::RtAdaptive => {
                "only real-time threads wait in order, others may overtake and spin for a while before they sleep; a waiter lends \
                 its priority to the owner"
            }
        }
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

    #[test]
    fn rows_are_in_the_order_of_the_search_and_of_the_staircases() {
        assert_eq!(LockKind::search_order(), [LockKind::Adaptive, LockKind::Steal]);
        let [real_time, ordinary] = Staircase::ALL.map(LockKind::steps);
        assert_eq!(real_time, [LockKind::RtFair, LockKind::RtSteal, LockKind::RtAdaptive]);
        assert_eq!(ordinary, [LockKind::Fair, LockKind::Steal, LockKind::Adaptive]);
    }
}
