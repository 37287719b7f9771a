//! Memory in a shared file: typed values at offsets, the heap, frees after a grace period, and lists of waiters.
//!
//! In models the arena, the heap and deferred frees are replaced by ones whose accesses loom checks.

pub(crate) mod list;
#[cfg(not(loom))]
mod memory;
#[cfg(loom)]
#[path = "models/mod.rs"]
mod memory;

pub(crate) use memory::*;
