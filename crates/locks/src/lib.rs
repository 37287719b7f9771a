//! Locks behind one contract, [`RawLock`]: one file for each algorithm.
//!
//! | lock | order | waits | for |
//! |---|---|---|---|
//! | [`Ttas`] | none | spins | study |
//!
//! Every lock is 16 bytes at most, and zeroes are a free lock: it lies inside a `pthread_mutex_t` as well as inside a Rust
//! value. None of them allocates, keeps a table, or points to anything but what waits for it now.
#![warn(missing_docs)]

mod condition;
#[cfg(not(loom))]
use unspin_sys::futex::private as futex;
#[cfg(loom)]
#[path = "models/futex.rs"]
mod futex;
mod kind;
#[cfg(not(loom))]
mod raw;
#[cfg(not(loom))]
mod ttas;

pub use condition::{Condition, Leaving, Left, Node, Wait};
pub use kind::{Kind, UnknownKind};
#[cfg(not(loom))]
pub use raw::{RawLock, Waited};
#[cfg(not(loom))]
pub use ttas::Ttas;
pub use unspin_sys::futex::{Clock, Until};
