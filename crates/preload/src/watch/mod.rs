//! Watching locks: what the hooks of `pthread` ask, and tell, at every use of a lock.
//!
//! [`recording`] opens the recording once per process image, [`thread`] is each thread's own table in it, [`modules`] knows
//! whose code has been seen.

pub mod modules;
pub mod recording;
pub mod thread;

pub use thread::{Caller, Thread};
