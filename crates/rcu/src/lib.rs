//! Read-copy-update over shared memory, across processes, surviving the death of a reader.
//!
//! Readers of several processes look at one data structure in a shared mapping without taking a lock; a
//! writer makes a piece unreachable, and frees it once no reader can still hold it: after a *grace period*.
//! Any process may be killed at any instruction. What it held up, and whatever it was known to hold by its
//! name, is found and released by whoever is held up by it.
//!
//! - [`Rcu`]: [`start_poll`](Rcu::start_poll), [`poll`](Rcu::poll), [`synchronize`](Rcu::synchronize), as in
//!   the Linux kernel (`start_poll_synchronize_rcu` and its kin).
//! - [`Reader`] and [`ReadGuard`], the safe way to read; [`Slot::enter`] and [`Slot::leave`] are the raw one:
//!   two loads, a test and a store to enter, a store to leave.
//! - [`registry`]: which threads take part, and what to do about the dead.
//! - [`Deferred`]: frees that wait for a grace period instead of a thread that does (`call_rcu`), and the
//!   [work queue](work) for those that take long.
//!
//! All shared types are `repr(C)`, valid when zeroed, and hold offsets and numbers, no pointers. The caller
//! provides the memory:
//!
//! ```
//! use std::sync::atomic::{AtomicUsize, Ordering};
//! use unspin_rcu::{Domain, Rcu, Slot};
//! use unspin_sys::mem::Mapping;
//!
//! #[repr(C)]
//! struct Shared {
//!     domain: Domain,
//!     slots: [Slot; 8],
//!     current: AtomicUsize,
//!     values: [[AtomicUsize; 2]; 2],
//! }
//!
//! let file = tempfile::tempfile()?;
//! file.set_len(size_of::<Shared>() as u64)?;
//! let map = Mapping::shared(&file, size_of::<Shared>())?;
//! // SAFETY: the mapping is large enough, page-aligned, zeroed, and outlives the threads below.
//! let shared = unsafe { map.start().cast::<Shared>().as_ref() };
//! let rcu = Rcu::new(&shared.domain, &shared.slots);
//!
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         let reader = rcu.join().unwrap();
//!         for _ in 0..1000 {
//!             let _section = reader.read();
//!             let pair = &shared.values[shared.current.load(Ordering::Acquire)];
//!             // Both halves are of one writing, because the writer never touches what we can see.
//!             assert_eq!(pair[0].load(Ordering::Relaxed), pair[1].load(Ordering::Relaxed));
//!         }
//!     });
//!     for n in 1..100 {
//!         let spare = 1 - shared.current.load(Ordering::Relaxed);
//!         shared.values[spare].iter().for_each(|half| half.store(n, Ordering::Relaxed));
//!         shared.current.store(spare, Ordering::Release);
//!         rcu.synchronize().unwrap(); // Nobody reads the other pair any more: it is the next spare one.
//!     }
//! });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Processes
//! A slot belongs to one thread of one image of one process. After `fork` the child must register threads of
//! its own: what says which slot is ours belongs into memory that the child finds wiped
//! ([`unspin_sys::mem::Mapping::wiped_on_fork`]); a [`Reader`] checks that by itself. `exec` ends all threads
//! of the image before; their slots are found dead by the new image's registration, or by whom they hold up.
//! After `vfork` the child runs on its parent's memory while the parent is suspended, and so may use its slot.
//!
//! Deaths are seen through `/proc` and `tgkill(2)`, so not across pid namespaces: a reader that is killed in
//! another namespace than every writer's holds up grace periods for ever. An image is known by the place of
//! its stack: where address-space randomisation is off, an `exec` of the same program goes unnoticed until
//! the new image registers from another thread, or ends.
//!
//! # Trust
//! Processes that share the memory trust each other: whoever can write to it can break it.
#![warn(missing_docs)]

pub mod deferred;
mod domain;
#[cfg(not(loom))]
mod fork;
pub mod host;
#[cfg(all(test, loom))]
mod models;
mod participant;
#[cfg(not(loom))]
mod reader;
pub mod registry;
#[cfg(test)]
mod script;
mod slot;
#[cfg(all(test, not(loom)))]
mod tests;
pub mod work;

pub use deferred::Deferred;
pub use domain::{Cookie, Counts, Domain, Rcu, Refused};
pub use host::{Host, Linux};
pub use participant::{Claim, Participant};
#[cfg(not(loom))]
pub use reader::{JoinError, ReadGuard, Reader};
pub use slot::{Fences, Section, Slot};
