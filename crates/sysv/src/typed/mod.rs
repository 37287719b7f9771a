//! The three mechanisms as Rust values: what goes through addresses in C goes through slices and types here.
//!
//! | in C | here |
//! |---|---|
//! | `semget`, `semop`, `semctl` | [`SemSet`], and [`SemOp`] for what is done at once |
//! | `msgget`, `msgsnd`, `msgrcv`, `msgctl` | [`MessageQueue`], [`Message`], and [`Which`] is wanted |
//! | `shmget`, `shmat`, `shmdt`, `shmctl` | [`Segment`], and [`Attachment`] or [`ReadOnlyAttachment`] while it is mapped |
//! | `ftok` | [`ftok`] |
//!
//! Objects are named by a key that programs agree on, or by their id; they outlive their users. So these values are
//! handles that may be copied, and nothing is removed when one is dropped: `remove` does that, by name. The names of
//! constructors are those of [`std::fs::File`]: `open` what exists, `create` if it does not, `create_new` or fail, and
//! `private` for what no key finds.
//!
//! Errors are the kernel's, [`Errno`](crate::Errno): the manual pages that each function names say which.
//!
//! They work on every [engine](crate::Engine), [`Kind::Kernel`](crate::Kind::Kernel) too.

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
