//! System V IPC in user space: the kernel's semantics over shared memory.
//!
//! Three engines answer the same calls. [`Kind::Kernel`] passes them on and is the control of every comparison;
//! [`Kind::Global`] is the kernel before the patch of 2002 that this project takes its origin from, one lock for all
//! ids; [`Kind::Rcu`] is the kernel after it, one lock an id, ids found under RCU, and beyond it: an operation on one
//! semaphore that nobody waits for is one compare-and-swap.
//!
//! ```
//! use unspin_sys::ipc::{Sembuf, flag};
//! use unspin_sysv::{Engine, Kind, Options};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None)?;
//! let id = engine.semget(0x5EED, 2, flag::IPC_CREAT | 0o600)?;
//! // Both or neither: +1 on the first, wait for zero on the second.
//! let both = [Sembuf { sem_num: 0, sem_op: 1, sem_flg: 0 }, Sembuf { sem_num: 1, sem_op: 0, sem_flg: 0 }];
//! engine.semop_ops(id, &both)?;
//! // SAFETY: GETVAL has no address to go wrong.
//! assert_eq!(unsafe { engine.semctl(id, 0, flag::GETVAL, 0) }, Ok(1));
//! # Ok(())
//! # }
//! ```
//!
//! # How it is built
//! An [arena](ArenaError) is a file that all processes map; offsets take the place of pointers. [`sem`] has the
//! protocols on one set, which know nothing of where it lies: the models of `loom` run them on the heap.
//!
//! **Lock order:** registry lock, then the lock of a set (in the `global` engine: the lock of all sets). Nobody waits
//! for the registry lock while holding a set's. In a read-side section locks may be taken.
//!
//! **Death** may come at any instruction. What a lock protects is either derived from records that one store
//! decides (queues, map of keys, counts), or written down before it is changed ([`sem::redo`], the heap's pending
//! block), so that whoever inherits the lock can finish or forget it.
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
mod arena;
#[cfg(loom)]
#[path = "models/arena.rs"]
mod arena;
pub mod creds;
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
mod lock;
#[cfg(not(loom))]
mod names;
pub mod participant;
#[cfg(not(loom))]
mod patience;
#[cfg(not(loom))]
mod retire;
#[cfg(loom)]
#[path = "models/retire.rs"]
mod retire;
pub mod sem;
#[cfg(not(loom))]
pub mod signal;
#[cfg(not(loom))]
mod sweep;
#[cfg(not(loom))]
mod thread;
mod time;
#[cfg(not(loom))]
mod wait;
#[cfg(not(loom))]
mod wake;

#[cfg(not(loom))]
pub use arena::{Account, ArenaError, Options, account};
#[cfg(not(loom))]
pub use engine::Engine;
pub use kind::{Kind, UnknownKind};
#[cfg(not(loom))]
pub use names::{describe, set_of};
