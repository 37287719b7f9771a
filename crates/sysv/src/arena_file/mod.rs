//! The file of an arena: what lies where in it, how it is made and joined, and how it is read without joining.

pub(crate) mod default_path;
mod error;
mod header_copy;
mod layout;
mod open;
mod outside;

pub use error::ArenaError;
pub(crate) use header_copy::HeaderCopy;
pub(crate) use layout::{HEAP_AT, Header, MAGIC, PARTICIPANTS_AT, PROCESSES_AT, SLOTS_AT};
pub(crate) use open::BESIDE;
pub use open::Options;
pub use outside::times_joined;
pub(crate) use outside::{is_arena, load, load_objects, namespace, open_to_read, read};
