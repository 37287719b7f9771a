//! Decides for how long a waiting thread polls before it sleeps.
//!
//! A thread that sleeps until another thread answers pays for a wake-up: 2 us on an idle CPU in a light sleep, 40 to 60
//! us on a virtual machine whose CPU has halted. Often the answer is ready sooner than that. This crate decides for how
//! long a thread polls before it sleeps. It does not depend on any kind of lock, file descriptor or hook.
//!
//! | module | contents |
//! |---|---|
//! | [`wakeup`] | what a wake-up costs on this machine, measured |
//! | [`site`] | what a thread has learnt about one of its wait sites: whether to poll, and for how long |
//! | [`mod@poll`] | one poll: the interval between checks, and how to notice that another thread needs the CPU |
//! | [`spin`] | spinning for a lock; the lock stores what was learnt |
//! | [`cpu_pressure`] | a word that pollers of several processes share: other threads need the CPUs |
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod cpu_pressure;
mod host;
mod parameters;
pub mod poll;
pub mod site;
pub mod spin;
#[cfg(not(any(loom, shuttle)))]
pub mod wakeup;

pub use cpu_pressure::CpuPressure;
pub use parameters::PollParameters;
pub use poll::{CheckKind, PollOutcome, poll};
pub use site::{SiteHistory, WaitDecision};
