//! Listing and removing objects and arenas, and showing them as `/proc` does.

pub mod arenas;
mod objects;
pub mod parts;
mod proc_text;

pub use objects::Semaphore;
