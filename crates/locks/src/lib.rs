//! Locks behind one contract, [`RawLock`]: one file for each algorithm.
//!
//! | lock | order | waits | for |
//! |---|---|---|---|
//! | [`Fair`] | FIFO | sleeps | comparison: what strict order costs |
//! | [`Steal`] | whoever comes while it is free; who waits long is handed it | sleeps | comparison |
//! | [`Adaptive`] | as `Steal` | spins as long as that pays, then sleeps | use |
//! | [`Ttas`] | none | spins | study |
//! | [`Ticket`], [`Mcs`] | FIFO | spin | study |
//!
//! Those for study collapse when threads outnumber CPUs: who is next, or who holds the lock, is not on a CPU while the others
//! burn theirs.
//!
//! Every lock is 16 bytes at most, and zeroes are a free lock: it lies inside a `pthread_mutex_t` as well as inside a Rust
//! value. None of them allocates, keeps a table, or points to anything but what waits for it now.
//!
//! In Rust they are used through [`api`], the adaptor to `lock_api`.
//!
//! [`Condition`] goes with any of them; [`Barrier`] is libc's, waited for as the caller likes.
//!
//! An algorithm says who is next; how a waiter spends its time is a [`waiting`] policy's business.
#![warn(missing_docs)]

#[cfg(not(any(loom, shuttle)))]
pub mod api;
mod barrier;
mod condition;
mod fair;
mod host;
mod kind;
mod mcs;
#[cfg(all(test, loom))]
mod models;
mod park;
mod patience;
mod raw;
mod rt;
#[cfg(all(test, shuttle))]
mod schedules;
mod stamp;
mod steal;
mod ticket;
mod ttas;
pub mod waiting;

pub use barrier::{Barrier, Turn, Word};
pub use condition::{Condition, Leaving, Left, Node, Wait};
pub use fair::Fair;
pub use kind::{Kind, UnknownKind, Visitor};
pub use mcs::Mcs;
pub use raw::{RawLock, Waited};
pub use rt::{Inheriting, RtAdaptive, RtFair, RtSteal};
pub use steal::{Adaptive, Steal, Stealing};
pub use ticket::Ticket;
pub use ttas::Ttas;
pub use unspin_sys::futex::{Clock, Until};

/// Finds out what the locks ask of the C library, which is otherwise done when a thread waits for the first time. To be
/// called at the start where that may be within the dynamic linker or an allocator: in a library that is loaded first.
pub fn prepare() {
    host::prepare();
    host::generation();
}
