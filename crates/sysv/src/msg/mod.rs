//! System V message queues.
//!
//! The layers, top down: `msgsnd`, `msgrcv`, `msgctl` and `msgget` check arguments in the kernel's order and take
//! locks. `section` and `handover` run under a queue's lock: they decide what becomes of messages and waiters.
//! `storage`, `queue`, `cell` and `mailbox` are the layout in the arena. `memory` copies texts between the arena and
//! the program.

mod cell;
mod handover;
mod limit;
mod mailbox;
mod memory;
mod msgctl;
mod msgget;
mod msgrcv;
mod msgsnd;
pub(crate) mod object;
mod queue;
mod section;
mod selector;
mod storage;

pub(crate) use limit::MsgmaxCache;
pub(crate) use memory::{Received, RecvBuffer};
pub(crate) use queue::MsgQueue;
