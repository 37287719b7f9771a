//! The meter's side of the hooks: what the hooks of `pthread` query and record at every use of a lock.
//!
//! [`recording`] opens the recording once per process image. [`thread`] is each thread's own table in it. [`modules`]
//! knows which code is listed in the recording. [`wrappers`] and [`frames`] find the functions that acquire locks for
//! their callers.

pub mod frames;
pub mod modules;
pub mod recording;
mod sample_rng;
pub mod thread;
mod wrappers;

/// To be called before the program begins. Looks up names, which must not happen later.
pub fn prepare() {
    frames::prepare();
}

pub use thread::{Hook, Known, Object, Thread};
