//! The table that finds an object by its index. Readers take no lock, also while it grows.

use super::MAX_OBJECTS;
use crate::store::{Arena, Shared};
use unspin_sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// Header of a table; `capacity` entries follow, each the offset of an object or 0. To grow, a new table is filled with
/// the entries, its offset is published, and the old one is retired after a grace period (`grow_ary` of the patch in
/// Morton 2002).
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(crate) struct Table {
    capacity: AtomicU32,
}

// SAFETY: atomics only, valid for every bit pattern.
unsafe impl Shared for Table {}

/// Number of entries in a new arena's table. It is small, so that growth happens often and is well tested.
pub(crate) const FIRST_CAPACITY: u32 = if cfg!(loom) { 1 } else { 64 };

impl Table {
    pub fn bytes(capacity: u32) -> u64 {
        size_of::<Table>() as u64 + capacity as u64 * 8
    }

    pub fn init(&self, capacity: u32) {
        // Relaxed: published by the Release store of this table's offset.
        self.capacity.store(capacity, Relaxed);
    }

    pub fn capacity(&self) -> u32 {
        // Relaxed: immutable once published; the Acquire load of the offset ordered it. Bounded, so that a walk through
        // an overwritten table ends.
        self.capacity.load(Relaxed).min(MAX_OBJECTS)
    }

    /// Offset in the arena of a table's entry.
    pub fn entry_offset(table: u64, index: usize) -> Option<u64> {
        table.checked_add(size_of::<Table>() as u64 + index as u64 * 8)
    }

    /// The entry of `index`; `None` beyond the capacity.
    #[inline(always)]
    pub fn entry(arena: &Arena, table: u64, index: usize) -> Option<&AtomicU64> {
        let header = arena.get::<Table>(table)?;
        // Relaxed: as in `capacity`.
        if index >= header.capacity.load(Relaxed) as usize {
            return None;
        }
        arena.get(Table::entry_offset(table, index)?)
    }

    /// The offset of the object with this index; 0 if there is none.
    #[inline(always)]
    pub fn find(arena: &Arena, table: u64, index: usize) -> u64 {
        // Acquire: partner of the Release in `publish`: a thread that sees the offset sees the object's fields.
        Table::entry(arena, table, index).map_or(0, |entry| entry.load(Acquire))
    }

    /// Sets the object (0 for none) of `index`. The caller holds the registry lock.
    pub fn publish(arena: &Arena, table: u64, index: usize, object: u64) {
        if let Some(entry) = Table::entry(arena, table, index) {
            // Release: partner of the Acquire in `find`.
            entry.store(object, Release);
        }
    }
}
