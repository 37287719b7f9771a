//! The hand-over under loom.

mod conditions;
mod mutexes;
mod rw_locks;
