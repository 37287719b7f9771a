//! The locks of the run queues.

pub(crate) mod cell;
mod operation;
mod queue_lock;
#[cfg(not(any(loom, shuttle)))]
mod recorder;

pub use operation::Operation;
pub(crate) use queue_lock::QueueLock;
#[cfg(not(any(loom, shuttle)))]
pub use recorder::{LOCK_NAME, Recorder, describe};

/// In models there is no recording.
#[cfg(any(loom, shuttle))]
#[derive(Clone, Copy, Debug)]
pub enum Recorder {}
