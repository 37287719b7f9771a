//! The map from keys to indices: open addressing, one word for each entry, read without a lock.
//!
//! An entry changes by one store, so it is never incomplete. If a lock holder dies before its last change of the map,
//! the map is rebuilt from the table of objects (see `registry`).

use crate::store::{Arena, Shared};
use unspin_sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// Header of a map; `capacity` entries (a power of two) follow. An entry has the key in its upper half and the index
/// plus one in its lower half. 0: never used; `GONE`: removed.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(crate) struct Keys {
    capacity: AtomicU32,
    /// Number of entries that are not 0. When it comes near the capacity the map is rebuilt. Protected by the registry
    /// lock.
    used: AtomicU32,
}

// SAFETY: atomics only, valid for every bit pattern.
unsafe impl Shared for Keys {}

const GONE: u64 = u64::MAX;

impl Keys {
    /// Number of entries for a table of `objects` objects. At most half of them are in use.
    pub fn capacity_for(objects: u32) -> u32 {
        (objects * 4).next_power_of_two()
    }

    pub fn bytes(capacity: u32) -> u64 {
        size_of::<Keys>() as u64 + capacity as u64 * 8
    }

    pub fn init(&self, capacity: u32) {
        // Relaxed: published by the Release store of this map's offset.
        self.capacity.store(capacity, Relaxed);
        self.used.store(0, Relaxed);
    }

    /// Number of entries, used or not.
    pub fn capacity(&self) -> u32 {
        // Relaxed: immutable once published. Bounded, like the capacity of a table.
        self.capacity.load(Relaxed).min(Self::capacity_for(super::MAX_OBJECTS))
    }

    /// Whether another key can still be inserted without long probing. The caller holds the registry lock.
    pub fn has_room(&self) -> bool {
        // Relaxed: under the registry lock.
        self.used.load(Relaxed) < self.capacity() / 4 * 3
    }

    /// Entries that may hold `key`, in probing order.
    #[inline(always)]
    fn probe(arena: &Arena, map: u64, key: i32) -> impl Iterator<Item = &AtomicU64> {
        let capacity = arena.get::<Keys>(map).map_or(0, Keys::capacity);
        // Fibonacci hashing (Knuth, TAOCP 3, 6.4): spreads the keys of ftok(3), which differ in few bits.
        let start = (key as u32).wrapping_mul(0x9E37_79B9).rotate_left(16);
        (0..capacity).map_while(move |i| {
            let at = start.wrapping_add(i) & (capacity - 1);
            arena.get(map.checked_add(size_of::<Keys>() as u64 + at as u64 * 8)?)
        })
    }

    /// The index that `key` had at some moment of the call. The caller checks the object's own key.
    #[inline(always)]
    pub fn find(arena: &Arena, map: u64, key: i32) -> Option<usize> {
        Self::probe(arena, map, key)
            // Acquire: partner of the Release in `insert`.
            .map(|entry| entry.load(Acquire))
            .take_while(|&entry| entry != 0)
            .find(|&entry| entry != GONE && (entry >> 32) as u32 == key as u32)
            .map(|entry| (entry as u32).wrapping_sub(1) as usize)
    }

    /// Adds a key that is not in the map. The caller holds the registry lock.
    pub fn insert(arena: &Arena, map: u64, key: i32, index: usize) {
        // Relaxed: under the registry lock.
        let free = Self::probe(arena, map, key).find(|entry| matches!(entry.load(Relaxed), 0 | GONE));
        let (Some(entry), Some(keys)) = (free, arena.get::<Keys>(map)) else { return };
        if entry.load(Relaxed) == 0 {
            keys.used.store(keys.used.load(Relaxed).wrapping_add(1), Relaxed);
        }
        // Release: partner of the Acquire in `find`.
        entry.store((key as u32 as u64) << 32 | (index as u64 + 1), Release);
    }

    /// Removes the entry of `key` and `index`. The caller holds the registry lock.
    pub fn remove(arena: &Arena, map: u64, key: i32, index: usize) {
        let wanted = (key as u32 as u64) << 32 | (index as u64 + 1);
        // Relaxed: under the registry lock.
        let mut entries = Self::probe(arena, map, key).take_while(|entry| entry.load(Relaxed) != 0);
        if let Some(entry) = entries.find(|entry| entry.load(Relaxed) == wanted) {
            // Release: as in `insert`.
            entry.store(GONE, Release);
        }
    }
}
