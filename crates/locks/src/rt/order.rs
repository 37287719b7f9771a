//! Who waits in the kernel's queue.

use crate::waiting::{Park, Waiting};
use core::marker::PhantomData;

/// See the module.
pub trait Order: Send + Sync + 'static {
    /// Whether threads that are neither real-time threads nor hold such a lock take it when it is free, instead of waiting
    /// in the queue.
    const STEALS: bool;
    /// How they wait.
    type Waiting: Waiting;
}

/// Everybody waits in the queue.
#[derive(Debug)]
pub struct Strict;

impl Order for Strict {
    const STEALS: bool = false;
    type Waiting = Park;
}

/// Those whom it matters to wait in the queue; the others steal, and wait in this way.
#[derive(Debug)]
pub struct Lateral<W>(PhantomData<W>);

impl<W: Waiting> Order for Lateral<W> {
    const STEALS: bool = true;
    type Waiting = W;
}
