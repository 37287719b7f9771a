//! Locks behind one contract, [`RawLock`]. Each algorithm has its own file.
//!
//! [`LockKind`] has them all; the table at the end of this file says what each one does.
//!
//! The experimental locks collapse when threads outnumber CPUs: the lock holder or the next waiter may not be on a CPU
//! while the other waiters keep all CPUs busy.
//!
//! Every lock has at most 16 bytes, and a free lock is all zeroes. So a lock fits inside a `pthread_mutex_t` as well as
//! inside a Rust value. No lock allocates memory or keeps a table. A lock points only to its current waiters.
//!
//! Rust programs use the locks through [`api`], the adaptor to `lock_api`.
//!
//! [`Condition`] is a condition variable that works with any of the locks; a [`ConditionTable`] has the waiters of many.
//! [`Barrier`] is libc's barrier with a wait that the caller supplies. [`handover`] is for a library that replaces libc's
//! locks, and has to hand them back while threads use them.
//!
//! An algorithm decides which thread acquires next. A [`waiting`] policy decides how a waiter spends its time.
#![warn(missing_docs)]

#[cfg(not(any(loom, shuttle)))]
pub mod api;
mod backoff;
mod barrier;
mod condition;
mod condition_table;
mod fair;
pub mod handover;
mod host;
mod kind;
mod mcs;
#[cfg(all(test, loom))]
mod models;
pub mod park;
mod raw;
mod rt;
pub mod rw;
#[cfg(all(test, shuttle))]
mod schedules;
pub mod spin;
mod spin_kind;
mod stamp;
mod steal;
mod ticket;
mod ttas;
pub mod waiting;

pub use barrier::{Barrier, BarrierRole, Word};
pub use condition::{Condition, LeaveReason, LeaveResult, Node, WaitEnd};
pub use condition_table::{ConditionTable, Waiters};
pub use fair::Fair;
pub use handover::HandOver;
pub use kind::{AcquisitionOrder, LockKind, LockVisitor, Staircase, UnknownLockKind, WaitingMode};
pub use mcs::Mcs;
pub use raw::{RawLock, Waited};
pub use rt::{PriorityInheriting, RtAdaptive, RtFair, RtSteal};
pub use rw::{RawRwLock, Recursion, Refused, RwLockKind};
pub use spin::{AdaptiveSpin, SpinLock};
pub use spin_kind::{SpinKind, UnknownSpinKind};
pub use steal::{Adaptive, Steal, Stealing};
pub use ticket::Ticket;
pub use ttas::Ttas;
pub use unspin_sys::futex::{Clock, Until};

/// Resolves what the locks need from the C library. Without this call that happens when a thread first waits. A
/// preloaded library must call it at its start, because its first wait may be inside the dynamic linker or an
/// allocator.
pub fn prepare() {
    host::prepare();
    host::generation();
    rw::prepare();
}

/// The table of the kinds of lock: calls the macro `$then` with all rows, from which it makes what it needs.
///
/// | column | meaning |
/// |---|---|
/// | documentation, variant, name | those of [`LockKind`]. The position of the row is the number in the mutex, so a new row is the last; there are at most 16 |
/// | `lock` | the module and the type of the algorithm; `(libc)` for a mutex of libc |
/// | `order` | an [`AcquisitionOrder`] |
/// | `waiters` | a [`WaitingMode`]. It selects the models of `models.rs` and `schedules.rs` |
/// | `inherits_priority` | whether a waiter lends its priority to the owner |
/// | `search_rank` | if `prove` tries the kind in a search: its position among those that it tries |
/// | `staircase` | the [`Staircase`] of which the kind is a step; rows are in the order of the steps |
/// | `note` | what the help adds in brackets |
#[macro_export]
macro_rules! for_each_lock_kind {
    ($then:ident) => {
        $then! {
            /// libc's mutex, reached through the same interposition as all other kinds: the control.
            System "system" {
                lock: (libc), order: Barging, waiters: Sleep, inherits_priority: false,
                search_rank: None, staircase: None, note: Some("libc's own, the control")
            }
            /// libc's mutex with PTHREAD_PRIO_INHERIT: the cost for a program that requests it.
            Pi "pi" {
                lock: (libc), order: HandOff, waiters: Sleep, inherits_priority: true,
                search_rank: None, staircase: None, note: Some("libc's with priority inheritance")
            }
            /// Test-and-test-and-set. Experimental.
            Ttas "ttas" {
                lock: (ttas::Ttas), order: Barging, waiters: SpinOnLock, inherits_priority: false,
                search_rank: None, staircase: None, note: None
            }
            /// Ticket lock: FIFO, spinning. Experimental.
            Ticket "ticket" {
                lock: (ticket::Ticket), order: HandOff, waiters: SpinOnLock, inherits_priority: false,
                search_rank: None, staircase: None, note: None
            }
            /// The MCS queue lock (Mellor-Crummey and Scott): FIFO, each waiter spins on its own word. Experimental.
            Mcs "mcs" {
                lock: (mcs::Mcs), order: HandOff, waiters: SpinOnOwnWord, inherits_priority: false,
                search_rank: None, staircase: None, note: None
            }
            /// Strict FIFO hand-off; waiters sleep. It has the "before" behaviour of Rostedt 2008.
            Fair "fair" {
                lock: (fair::Fair), order: HandOff, waiters: Sleep, inherits_priority: false,
                search_rank: None, staircase: Some(Staircase::Ordinary), note: None
            }
            /// A thread that finds the lock free takes it, even if others wait; waiters sleep. A waiter that has waited
            /// long gets the lock handed over.
            Steal "steal" {
                lock: (steal::Steal), order: Barging, waiters: Sleep, inherits_priority: false,
                search_rank: Some(2), staircase: Some(Staircase::Ordinary), note: None
            }
            /// [`LockKind::Steal`] with adaptive spinning.
            Adaptive "adaptive" {
                lock: (steal::Adaptive), order: Barging, waiters: SpinThenSleep, inherits_priority: false,
                search_rank: Some(1), staircase: Some(Staircase::Ordinary), note: None
            }
            /// Priority inheritance and strict order for all threads.
            RtFair "rt-fair" {
                lock: (rt::RtFair), order: HandOff, waiters: Sleep, inherits_priority: true,
                search_rank: None, staircase: Some(Staircase::RealTime), note: None
            }
            /// Priority inheritance and strict order for real-time threads; the others may steal.
            RtSteal "rt-steal" {
                lock: (rt::RtSteal), order: Barging, waiters: Sleep, inherits_priority: true,
                search_rank: None, staircase: Some(Staircase::RealTime), note: None
            }
            /// [`LockKind::RtSteal`] with adaptive spinning.
            RtAdaptive "rt-adaptive" {
                lock: (rt::RtAdaptive), order: Barging, waiters: SpinThenSleep, inherits_priority: true,
                search_rank: None, staircase: Some(Staircase::RealTime), note: None
            }
        }
    };
}
