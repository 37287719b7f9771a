//! When a waiting thread looks again, and when it sleeps.
//!
//! A thread that sleeps until another thread answers pays for a wake-up: 2 us on an idle CPU in a light sleep, 40 to 60 us
//! on a virtual machine whose CPU has halted. Often the answer is ready sooner than that. This crate decides for how long a
//! thread polls before it sleeps. It knows no lock, no descriptor and no hook.
//!
//! | module | is about |
//! |---|---|
//! | [`wakeup`] | what a wake-up costs on this machine, measured |
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(not(any(loom, shuttle)))]
pub mod wakeup;
