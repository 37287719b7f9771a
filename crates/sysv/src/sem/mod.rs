//! System V semaphores.
//!
//! The layers, top down: `semop`, `semctl` and `semget` check arguments in the kernel's order and take locks; `quick`
//! and [`fast`] do what needs none; [`section`] decides, under a set's lock, what becomes of a vector and of its
//! waiters; `queue` and [`redo`] keep the waiters' lists and make changes of several words all or nothing; [`word`] is
//! one semaphore.

pub mod fast;
#[cfg(not(loom))]
mod get;
#[cfg(all(test, loom))]
mod models;
mod queue;
#[cfg(not(loom))]
mod quick;
pub mod redo;
pub mod section;
#[cfg(not(loom))]
mod semctl;
#[cfg(not(loom))]
mod semop;
mod set;
mod space;
#[cfg(all(test, not(loom)))]
mod tests;
mod vector;
pub mod word;

pub use section::{Performed, Section, Wake, Wakes};
pub use set::{Sem, Set};
pub use space::Space;
pub use vector::Op;

#[cfg(not(loom))]
use crate::arena::Arena;
#[cfg(not(loom))]
use crate::engine::Inner;
#[cfg(not(loom))]
use unspin_sync::atomic::Ordering::Relaxed;

/// The set at an offset that the table gave; `None` for 0 and for what cannot be one.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) fn find_set(arena: &Arena, at: u64) -> Option<&Set> {
    if at == 0 { None } else { arena.get::<Set>(at) }
}

/// A set with its semaphores and everybody who may wait.
#[cfg(not(loom))]
pub(crate) fn space(inner: &'static Inner, at: u64, set: &'static Set) -> Space<'static> {
    let sems = inner.arena.slice::<Sem>(at + size_of::<Set>() as u64, set.count()).unwrap_or(&[]);
    Space { set, sems, people: inner.people(), offset: at }
}

/// Semaphores of the set at an offset.
#[cfg(not(loom))]
pub(crate) fn units_of(arena: &Arena, at: u64) -> u32 {
    // Relaxed: immutable once published.
    find_set(arena, at).map_or(0, |set| set.nsems.load(Relaxed))
}

/// Bytes of a set.
#[cfg(not(loom))]
pub(crate) fn bytes(set: &Set) -> u64 {
    set::bytes(set.count() as u32)
}

#[cfg(not(loom))]
pub(crate) use set::bytes as bytes_for;
