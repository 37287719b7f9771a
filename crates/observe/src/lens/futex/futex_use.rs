//! Futexes, and their uses.

use crate::lens::spaces::{SharedPlace, SpaceId};
use unspin_trace::StackId;

/// A futex: what threads wait at.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Futex {
    /// At an address of one address space.
    Private(SpaceId, u64),
    /// In memory that processes share.
    Shared(SharedPlace),
    /// One of several (futex_waitv, futex_requeue). Their list is at the address.
    Several(SpaceId, u64),
}

/// A use of a futex, by the stack that made the call.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FutexUse {
    pub futex: Futex,
    pub space: SpaceId,
    pub stack: StackId,
}
