//! Watching locks: what the hooks of `pthread` ask, and tell, at every use of a lock.
//!
//! [`recording`] opens the recording once per process image, [`thread`] is each thread's own table in it, [`modules`] knows
//! whose code has been seen, [`wrappers`] and [`frames`] who takes locks for others.

pub mod frames;
mod lot;
pub mod modules;
pub mod recording;
pub mod thread;
mod wrappers;

/// To be called before the program begins: what looks a name up, or takes a place among few, is done now.
pub fn prepare() {
    frames::prepare();
}

pub use thread::{Hook, Object, Thread};
