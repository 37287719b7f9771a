//! Policy: which threads wait in the kernel's queue.

use crate::waiting::{Park, SpinPolicy};
use core::marker::PhantomData;

/// Which threads wait in the kernel's queue.
pub trait QueuePolicy: Send + Sync + 'static {
    /// Whether a thread that is neither real-time nor holds such a lock takes a free lock instead of waiting in the
    /// queue.
    const STEALS: bool;
    /// How the threads outside the queue wait.
    type SpinPolicy: SpinPolicy;
}

/// All threads wait in the kernel's queue.
#[derive(Debug)]
pub struct QueueAll;

impl QueuePolicy for QueueAll {
    const STEALS: bool = false;
    type SpinPolicy = Park;
}

/// Urgent threads wait in the kernel's queue (see `caller::is_urgent`); the others steal and wait according to `W`.
#[derive(Debug)]
pub struct QueueUrgent<W>(PhantomData<W>);

impl<W: SpinPolicy> QueuePolicy for QueueUrgent<W> {
    const STEALS: bool = true;
    type SpinPolicy = W;
}
