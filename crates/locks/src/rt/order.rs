//! Policy: which threads wait in the kernel's queue.

use crate::waiting::{Park, Waiting};
use core::marker::PhantomData;

/// See the module documentation.
pub trait Order: Send + Sync + 'static {
    /// Whether a thread that is neither real-time nor holds such a lock takes a free lock instead of waiting in the
    /// queue.
    const STEALS: bool;
    /// How the threads outside the queue wait.
    type Waiting: Waiting;
}

/// All threads wait in the kernel's queue.
#[derive(Debug)]
pub struct Strict;

impl Order for Strict {
    const STEALS: bool = false;
    type Waiting = Park;
}

/// Urgent threads wait in the kernel's queue (see `caller::is_urgent`); the others steal and wait according to `W`.
#[derive(Debug)]
pub struct Lateral<W>(PhantomData<W>);

impl<W: Waiting> Order for Lateral<W> {
    const STEALS: bool = true;
    type Waiting = W;
}
