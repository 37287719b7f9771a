//! Locks behind one contract, [`RawLock`]. Each algorithm has its own file.
//!
//! | lock | acquisition order | how a waiter waits | purpose |
//! |---|---|---|---|
//! | [`Fair`] | FIFO | sleeps | comparison: the cost of strict order |
//! | [`Steal`] | any thread that finds the lock free; handed to a waiter that has waited long | sleeps | comparison |
//! | [`Adaptive`] | as `Steal` | spins adaptively, then sleeps | production |
//! | [`RtFair`] | by real-time priority, then FIFO; priority inheritance | sleeps | real-time programs |
//! | [`RtSteal`], [`RtAdaptive`] | real-time as `RtFair`, others as `Steal` | as `Steal`, `Adaptive` | as above |
//! | [`Ttas`] | none | spins | experimental |
//! | [`Ticket`], [`Mcs`] | FIFO | spins | experimental |
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
#[cfg(all(test, shuttle))]
mod schedules;
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
pub use kind::{LockKind, LockVisitor, UnknownLockKind};
pub use mcs::Mcs;
pub use raw::{RawLock, Waited};
pub use rt::{PriorityInheriting, RtAdaptive, RtFair, RtSteal};
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
}
