//! What all System V objects have in common: ids, keys, permissions, and the registry that finds them.

mod id;
mod keys;
#[cfg(all(test, loom))]
mod models;
mod perm;
mod registry;
mod table;

pub use id::{Id, MAX_OBJECTS};
pub(crate) use keys::Keys;
pub use perm::{Access, Perm};
pub(crate) use registry::{Registry, Root, capacity, find_index, find_key, objects};
pub(crate) use table::Table;
