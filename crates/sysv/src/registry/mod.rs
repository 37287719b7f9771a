//! The common parts of all System V objects: ids, keys, permissions, and the registry that finds them.

pub mod creds;
mod id;
mod keys;
mod lookup;
#[cfg(all(test, loom))]
mod models;
mod perm;
mod root;
mod table;
mod update;

pub use id::{Id, MAX_OBJECTS};
pub(crate) use keys::Keys;
pub(crate) use lookup::{capacity, find_index, find_key, is_object, objects};
pub use perm::{Access, Perm};
pub(crate) use root::Root;
pub(crate) use table::Table;
pub(crate) use update::Registry;
