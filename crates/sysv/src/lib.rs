//! System V IPC in user space: the kernel's semantics over shared memory.
//!
//! Three engines answer the same calls. [`Kind::Kernel`] passes each call to the kernel; every comparison uses it as
//! the control. [`Kind::Global`] imitates the kernel before the patch of 2002 that this project started from: one lock
//! for all ids. [`Kind::Rcu`] imitates the kernel after that patch: one lock for each id, and ids are looked up under
//! RCU. In addition, `Rcu` performs an operation on one semaphore with no waiters by a single compare-and-swap.
//!
//! [`typed`] offers the three mechanisms (semaphores, message queues, shared memory) as Rust values:
//!
//! ```
//! use unspin_sysv::typed::{Message, MessageQueue, Segment, SemOp, SemSet, Which};
//! use unspin_sysv::{Engine, Kind, Options};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None)?;
//!
//! // Semaphores: +1 on the first and wait for zero on the second, both or neither.
//! let set = SemSet::create(&engine, 0x5EED, 2, 0o600)?;
//! set.operate(&[SemOp::post(0, 1), SemOp::wait_for_zero(1)])?;
//! assert_eq!(set.values()?, [1, 0]);
//!
//! // Messages.
//! let queue = MessageQueue::private(&engine, 0o600)?;
//! queue.send(&Message::new(3, b"three"))?;
//! let mut message = Message::with_capacity(80);
//! queue.receive(Which::First, &mut message)?;
//! assert_eq!((message.kind(), message.text()), (3, &b"three"[..]));
//!
//! // Shared memory.
//! let segment = Segment::private(&engine, 4096, 0o600)?;
//! let memory = segment.attach()?;
//! memory.as_atomics()[0].store(7, std::sync::atomic::Ordering::SeqCst);
//!
//! // Objects are not removed on drop: like the kernel's objects, they exist until they are removed.
//! set.remove()?;
//! queue.remove()?;
//! segment.remove()?;
//! # Ok(())
//! # }
//! ```
//!
//! Below that interface, [`Engine`] has the twelve System V calls with the C arguments, addresses included. Code that
//! replaces the kernel's calls uses it.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use unspin_sysv::{Engine, Kind, Options};
//! # let dir = tempfile::tempdir()?;
//! # let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None)?;
//! use unspin_sys::ipc::flag;
//!
//! let id = engine.semget(flag::IPC_PRIVATE, 1, 0o600)?;
//! // SAFETY: SETVAL takes a number and GETVAL takes nothing, so no address is dereferenced.
//! let value = unsafe {
//!     engine.semctl(id, 0, flag::SETVAL, 3)?;
//!     engine.semctl(id, 0, flag::GETVAL, 0)?
//! };
//! assert_eq!(value, 3);
//! # Ok(())
//! # }
//! ```
//!
//! # How it is built
//! An [arena](ArenaError) is a file that all participating processes map; it uses offsets instead of pointers. [`sem`]
//! has the protocols on one semaphore set. They do not depend on where the set lies: the `loom` models run them on the
//! heap.
//!
//! **Lock order:** registry lock, then the lock of an object (a set or a message queue; in the `global` engine: the one
//! lock of all objects). A thread that holds an object's lock never waits for the registry lock. Locks may be taken
//! within an RCU read-side section.
//!
//! **Process death** may happen at any instruction. State that a lock protects is of two sorts. Queues, the map of keys
//! and counts are derived from records, each of which a single store decides. Everything else is logged before it is
//! changed ([`sem::redo`], the heap's pending block). So the thread that takes over a dead owner's lock can complete
//! the change or discard it.
#![warn(missing_docs)]
#![cfg_attr(
    loom,
    expect(
        dead_code,
        unused_imports,
        reason = "models reach the protocols, not what takes arguments and sleeps"
    )
)]

#[cfg(not(loom))]
#[doc(hidden)]
pub mod anatomy;
#[cfg(not(loom))]
mod arena;
#[cfg(loom)]
#[path = "models/arena.rs"]
mod arena;
#[cfg(not(loom))]
pub mod arenas;
mod busy;
#[cfg(not(loom))]
pub mod cancel;
#[cfg(not(loom))]
mod catalogue;
pub mod creds;
#[cfg(not(loom))]
pub mod damage;
#[cfg(not(loom))]
mod engine;
#[cfg(not(loom))]
mod guard;
#[cfg(not(loom))]
use unspin_sys::futex;
#[cfg(loom)]
#[path = "models/futex.rs"]
mod futex;
#[cfg(not(loom))]
mod heap;
#[cfg(loom)]
#[path = "models/heap.rs"]
mod heap;
mod ipc;
mod kind;
#[cfg(not(loom))]
mod known;
mod list;
mod lock;
#[cfg(not(loom))]
mod msg;
#[cfg(not(loom))]
mod names;
pub mod participant;
#[cfg(not(loom))]
mod proc;
#[cfg(not(loom))]
mod process;
#[cfg(not(loom))]
mod retire;
#[cfg(loom)]
#[path = "models/retire.rs"]
mod retire;
pub mod sem;
#[cfg(not(loom))]
mod shm;
#[cfg(not(loom))]
pub mod signal;
#[cfg(not(loom))]
mod sweep;
#[cfg(not(loom))]
mod thread;
mod time;
#[cfg(not(loom))]
pub mod typed;
#[cfg(not(loom))]
mod vigil;
#[cfg(not(loom))]
mod wait;
#[cfg(not(loom))]
mod wake;
mod wakes;

#[cfg(not(loom))]
pub use arena::{ArenaError, Options, times_joined};
#[cfg(not(loom))]
pub use catalogue::Semaphore;
#[cfg(not(loom))]
pub use engine::Engine;
pub use ipc::Class;
pub use kind::{Kind, UnknownLockKind};
#[cfg(not(loom))]
pub use names::{describe, set_of};
#[cfg(not(loom))]
pub use shm::{Removed, remove_arena};
pub use unspin_sys::Errno;
