//! The root of a class, in the arena's header.

use unspin_sync::atomic::{AtomicU32, AtomicU64};

/// The root of a class. Everything except the two offsets is protected by the registry lock.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Root {
    /// Offset of the [`Table`](super::Table).
    pub table: AtomicU64,
    /// Offset of the [`Keys`](super::Keys).
    pub keys: AtomicU64,
    /// Number of objects.
    pub in_use: AtomicU32,
    /// Total size of the objects: semaphores, or pages of segments; 0 for queues.
    pub units: AtomicU64,
    /// Sequence number of the next id.
    pub sequence: AtomicU32,
    /// The last index that was assigned, plus one.
    pub last: AtomicU32,
}
