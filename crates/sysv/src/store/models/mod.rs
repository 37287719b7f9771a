//! Replaces the shared file and its memory in models.

mod arena;
pub(crate) mod deferred_free;
pub(crate) mod heap;

pub(crate) use arena::{Arena, Header, Shared};
