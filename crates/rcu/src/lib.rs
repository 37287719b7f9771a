//! Read-copy-update over shared memory, across processes, surviving the death of a reader.
//!
//! Readers in several processes read one data structure in a shared mapping without a lock. A writer makes a piece
//! unreachable and frees it once no reader can still hold it: after a *grace period*. Any process may be killed at any
//! instruction. A process that the dead one holds up finds that out, and releases what the dead one is recorded to
//! hold.
//!
//! - [`Rcu`]: [`start_poll`](Rcu::start_poll), [`poll`](Rcu::poll), [`synchronize`](Rcu::synchronize), as in the Linux
//!   kernel (`start_poll_synchronize_rcu` and related functions).
//! - [`Reader`] and [`ReadGuard`]: the safe way to read. [`Slot::enter`] and [`Slot::leave`] are the raw way: two
//!   loads, a test and a store to enter, a store to leave.
//! - [`registry`]: the participating threads, and the recovery of dead ones.
//! - [`DeferredFrees`]: frees that wait for a grace period without a waiting thread (`call_rcu`), and the [work
//!   queue](work) for frees that take long.
//!
//! All shared types are `repr(C)`, valid when zeroed, and hold offsets and numbers instead of pointers. The caller
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
//! let map = Mapping::map_shared(&file, size_of::<Shared>())?;
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
//!             // Both halves are from the same update, because the writer never changes what we can reach.
//!             assert_eq!(pair[0].load(Ordering::Relaxed), pair[1].load(Ordering::Relaxed));
//!         }
//!     });
//!     for n in 1..100 {
//!         let spare = 1 - shared.current.load(Ordering::Relaxed);
//!         shared.values[spare].iter().for_each(|half| half.store(n, Ordering::Relaxed));
//!         shared.current.store(spare, Ordering::Release);
//!         rcu.synchronize().unwrap(); // No reader can hold the other pair any more: it is the next spare one.
//!     }
//! });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Processes
//! A slot belongs to one thread of one image (the program that a process executes) of one process. After `fork` the
//! child must register its own threads. So the record of which slot is ours must lie in memory that the kernel wipes in
//! the child ([`unspin_sys::mem::Mapping::map_wiped_on_fork`]); a [`Reader`] checks that by itself. `exec` ends all threads
//! of the old image. Their slots are found dead when the new image registers, or by a process that they hold up. After
//! `vfork` the child runs on its parent's memory while the parent is suspended, so it may use the parent's slot.
//!
//! Deaths are detected through `/proc` and `tgkill(2)`, so not across pid namespaces: a reader that is killed in
//! another namespace than that of every writer holds up grace periods for ever. An image is identified by the position
//! of its stack. Where address-space randomisation is off, an `exec` of the same program is not noticed until the new
//! image registers from another thread, or ends.
//!
//! # Trust
//! Processes that share the memory trust each other: a process that can write to it can break it.
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

pub use deferred::DeferredFrees;
pub use domain::{Cookie, Domain, FenceRefused, GracePeriodCounts, Rcu};
pub use host::{Host, Linux};
pub use participant::{PackedIdentity, ParticipantId};
#[cfg(not(loom))]
pub use reader::{JoinError, ReadGuard, Reader};
pub use slot::{FenceMode, SectionToken, Slot};
