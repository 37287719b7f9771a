//! System V semaphores.
//!
//! The layers, top down: `fast` performs one operation on one semaphore without a lock; `semop`, `semctl` and `semget`
//! check arguments in the kernel's order and take locks; [`section`] decides, under a set's lock, what becomes of a
//! vector and of its waiters; `queue` and [`redo`] keep the waiters' lists and make changes of several words all or
//! nothing; [`word`] is one semaphore.

mod fast;
mod get;
mod queue;
pub mod redo;
pub mod section;
mod semctl;
mod semop;
mod set;
mod space;
mod vector;
pub mod word;

pub(crate) use section::confirm;
pub use section::{Performed, Section, Wakes};
pub use set::{Sem, Set};
pub use space::Space;
pub use vector::Op;

use crate::arena::Arena;
use crate::engine::Inner;
use unspin_sync::atomic::Ordering::Relaxed;

/// The set at an offset that the table gave; `None` for 0 and for what cannot be one.
#[inline(always)]
pub(crate) fn find_set(arena: &Arena, at: u64) -> Option<&Set> {
    if at == 0 { None } else { arena.get::<Set>(at) }
}

/// A set with its semaphores and everybody who may wait.
pub(crate) fn space(inner: &'static Inner, at: u64, set: &'static Set) -> Space<'static> {
    let sems = inner.arena.slice::<Sem>(at + size_of::<Set>() as u64, set.count()).unwrap_or(&[]);
    Space { set, sems, people: inner.people(), offset: at }
}

/// Semaphores of the set at an offset.
pub(crate) fn units_of(arena: &Arena, at: u64) -> u32 {
    // Relaxed: immutable once published.
    find_set(arena, at).map_or(0, |set| set.nsems.load(Relaxed))
}

/// Bytes of a set.
pub(crate) fn bytes(set: &Set) -> u64 {
    set::bytes(set.count() as u32)
}

pub(crate) use set::bytes as bytes_for;
