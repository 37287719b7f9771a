//! The hand-over to libc, for a library that replaces the mutexes, read-write locks and conditions of a program in place: code has got into the
//! process that calls libc directly. From then on libc's locks must be the only ones, though threads hold ours and wait
//! for them at that moment.
//!
//! | module | contents |
//! |---|---|
//! | `begun` | [`HandOver`]: whether it has begun |
//! | [`two_locks`] | a mutex: our lock lies beside libc's |
//! | [`two_rw_locks`] | a read-write lock: likewise |
//! | [`stand_in`] | a condition that is libc's, with waiters whose mutex is ours |
//!
//! The conditions that are ours are in a [`ConditionTable`](crate::ConditionTable).

mod begun;
#[cfg(all(test, loom))]
mod models;
pub mod stand_in;
pub mod two_locks;
pub mod two_rw_locks;

pub use begun::HandOver;
