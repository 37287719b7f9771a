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
//! assert_eq!((message.mtype(), message.text()), (3, &b"three"[..]));
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
//! An [arena](ArenaError) is a file that all participating processes map; it uses offsets instead of pointers. The
//! groups of modules, from the top:
//!
//! | group | contents |
//! |---|---|
//! | [`typed`], `inspect` | objects as Rust values; listing objects and arenas |
//! | [`sem`], `msg`, `shm` | the three mechanisms: calls, and the protocols under an object's lock |
//! | `engine` | [`Engine`] and its parts; finding and locking objects. Only `engine/classes.rs` names the mechanisms |
//! | `waiting` | sleeping until an operation is performed, monitoring processes for exit, waking |
//! | `recovery` | dead participants and processes; damage to an arena |
//! | `thread` | the calling thread: its place in an arena, caches, signals, cancellation |
//! | `arena_file` | the layout of the file; making and joining it, reading it from outside |
//! | `registry` | ids, keys, permissions; objects are looked up under RCU |
//! | `store` | typed memory at offsets, the heap, deferred frees, lists of waiters |
//! | `participant` | the record that each participating thread has in the arena |
//! | `sync` | the lock, and the count of locks that a thread holds |
//!
//! No two files depend on each other in a circle. The groups `engine`, `waiting`, `recovery` and `thread` are one
//! layer: a thread that is held up recovers dead participants, and recovery takes locks. The protocols of `sem` do not
//! depend on where a set lies: the `loom` models run them on the heap.
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

mod class;
mod kind;
mod participant;
mod registry;
mod rules;
pub mod sem;
mod store;
mod sync;
mod time;

// What takes arguments, asks the kernel or sleeps: the models do without it.
#[cfg(not(loom))]
mod arena_file;
#[cfg(not(loom))]
mod engine;
#[cfg(not(loom))]
mod inspect;
#[cfg(not(loom))]
mod msg;
#[cfg(not(loom))]
mod recovery;
#[cfg(not(loom))]
mod shm;
#[cfg(not(loom))]
mod thread;
#[cfg(not(loom))]
pub mod typed;
#[cfg(not(loom))]
mod waiting;

pub use class::Class;
pub use kind::{Kind, UnknownKind};
pub use registry::creds;
pub use unspin_sys::Errno;

#[cfg(not(loom))]
pub use crate::{
    arena_file::{ArenaError, Options, default_path::FOLDERS as ARENA_FOLDERS, times_joined},
    engine::Engine,
    engine::lock_names::{describe, set_of},
    inspect::{Semaphore, arenas},
    recovery::damage,
    sem::calls::one_op::{LoadedOp, OneOpCaller},
    shm::{Removed, remove_arena},
    thread::{cancel, signal},
};
#[cfg(not(loom))]
#[doc(hidden)]
pub use inspect::parts as arena_parts;
