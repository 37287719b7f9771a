//! Waiting until another thread performs the caller's operation, and waking the threads whose operations were
//! performed.

mod exit_monitor;
mod wait;
mod waits;
pub(crate) mod wake;

pub(crate) use wait::{interrupt, wait};
pub(crate) use waits::{CallerBuffers, WaitResult, WaitTarget, Waits};
