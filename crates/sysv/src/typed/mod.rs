//! The three mechanisms as Rust values: slices and types take the place of C's addresses.
//!
//! | in C | here |
//! |---|---|
//! | `semget`, `semop`, `semctl` | [`SemSet`], and [`SemOp`] for the operations of one call |
//! | `msgget`, `msgsnd`, `msgrcv`, `msgctl` | [`MessageQueue`], [`Message`], and [`Which`] to select a message |
//! | `shmget`, `shmat`, `shmdt`, `shmctl` | [`Segment`]; while it is mapped [`Attachment`] or [`ReadOnlyAttachment`] |
//! | `ftok` | [`ftok`] |
//!
//! An object is found by a key that programs agree on, or by its id. Objects outlive their users. So these values are
//! handles that may be copied, and dropping one removes nothing; `remove` removes the object. The constructors are
//! named like those of [`std::fs::File`]: `open` for an object that exists, `create` to make it if it does not,
//! `create_new` to fail if it does. `private` makes an object without a key.
//!
//! Errors are the kernel's, [`Errno`](crate::Errno); the manual page that each function names lists them.
//!
//! They work on every [engine](crate::Engine), also on [`Kind::Kernel`](crate::Kind::Kernel).

mod attachment;
mod key;
mod message;
mod message_queue;
mod segment;
mod sem_op;
mod sem_set;

pub use attachment::{Attachment, ReadOnlyAttachment};
pub use key::ftok;
pub use message::Message;
pub use message_queue::{MessageQueue, Which};
pub use segment::Segment;
pub use sem_op::SemOp;
pub use sem_set::SemSet;
