//! The common parts of all System V objects: ids, keys, permissions, and the registry that finds them.

mod class;
mod id;
mod keys;
#[cfg(all(test, loom))]
mod models;
#[cfg(not(loom))]
mod object;
mod perm;
mod registry;
mod table;

pub use class::Class;
pub use id::{Id, MAX_OBJECTS};
pub(crate) use keys::Keys;
#[cfg(not(loom))]
pub(crate) use object::{Object, Section};
pub use perm::{Access, Perm};
pub(crate) use registry::{Registry, Root, capacity, find_index, find_key, is_object, objects};
pub(crate) use table::Table;
