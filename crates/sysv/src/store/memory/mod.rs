//! The memory of an arena.

mod arena;
pub(crate) mod deferred_free;
pub(crate) mod heap;
pub(crate) mod part;

pub(crate) use arena::{Arena, PAGE, Shared};
