//! When a waiting thread looks again, and when it sleeps.
//!
//! A thread that sleeps until another thread answers pays for a wake-up: 2 us on an idle CPU in a light sleep, 40 to 60 us
//! on a virtual machine whose CPU has halted. Often the answer is ready sooner than that. This crate decides for how long a
//! thread polls before it sleeps. It knows no lock, no descriptor and no hook.
//!
//! | module | is about |
//! |---|---|
//! | [`wakeup`] | what a wake-up costs on this machine, measured |
//! | [`site`] | what a thread has learnt about one of its wait sites: whether to poll, and for how long |
//! | [`mod@poll`] | one poll: the pace of looks, and when another thread needs the CPU |
//! | [`spin`] | spinning for a lock, with what is learnt kept in the lock |
//! | [`crowd`] | what pollers of several processes tell each other |
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod crowd;
mod host;
mod policy;
pub mod poll;
pub mod site;
pub mod spin;
#[cfg(not(any(loom, shuttle)))]
pub mod wakeup;

pub use crowd::Crowd;
pub use policy::Policy;
pub use poll::{Looks, Polled, poll};
pub use site::{Site, Turn};
