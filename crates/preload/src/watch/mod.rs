//! The meter's side of the hooks: what the hooks of `pthread` query and record at every use of a lock.
//!
//! [`recording`] opens the recording once per process image. [`thread`] is each thread's own table in it. [`modules`]
//! knows which code is listed in the recording. A [`Hook`] has the registers of a call; [`wrappers`] and [`frames`] find the
//! functions that acquire locks for their callers.
//!
//! The next definitions of libc's functions are looked up before the program begins ([`crate::next::prepare`]). Later
//! the dynamic linker's lock may be held by a thread that waits for this one. For the same reason no hook calls
//! `dl_iterate_phdr`, allocates, or waits for another thread.

mod filters;
pub mod frames;
mod hook;
pub mod modules;
mod object;
pub mod recording;
mod sample_rng;
mod table_pages;
pub mod thread;
mod timing_cost;
mod wrappers;

/// To be called before the program begins. Looks up names, which must not happen later, and has seccomp filters counted.
pub fn prepare() {
    frames::prepare();
    filters::prepare();
}

pub use hook::Hook;
pub use object::Object;
pub use thread::{Known, Thread, WokenFrom};
