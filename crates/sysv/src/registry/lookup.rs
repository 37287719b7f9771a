//! Looking objects up. The caller is in a read-side section, or holds the registry lock.

use super::{Id, Keys, Perm, Table};
use crate::class::Class;
use crate::store::Arena;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};

/// The offset of the object with this index, 0 if there is none. The caller is in a read-side section, or holds the
/// registry lock. The object may have another sequence number than an id with this index, or be deleted.
#[inline(always)]
pub(crate) fn find_index(arena: &Arena, class: Class, index: usize) -> u64 {
    // Acquire: partner of the Release in `replace_table`.
    Table::find(arena, arena.header().root(class).table.load(Acquire), index)
}

/// The offset of the object with `key`. The caller is in a read-side section, or holds the registry lock.
#[inline(always)]
pub(crate) fn find_key(arena: &Arena, class: Class, key: i32) -> Option<u64> {
    // Acquire: partner of the Release in `replace_keys`.
    let keys = arena.header().root(class).keys.load(Acquire);
    let object = find_index(arena, class, Keys::find(arena, keys, key)?);
    let perm = arena.get::<Perm>(object).filter(|_| object != 0)?;
    // Relaxed: immutable once published.
    (perm.key.load(Relaxed) == key && !perm.is_deleted()).then_some(object)
}

/// Whether there is an object of the table at an offset; any other data may be there. The caller is in a read-side
/// section, or holds the registry lock.
pub(crate) fn is_object(arena: &Arena, class: Class, at: u64) -> bool {
    // Relaxed: an object has its id before it is in the table.
    let index = arena.get::<Perm>(at).map(|perm| Id(perm.id.load(Relaxed)).index());
    at != 0 && index.is_some_and(|index| find_index(arena, class, index) == at)
}

/// Offsets of all objects, by index. The caller is in a read-side section, or holds the registry lock.
pub(crate) fn objects(arena: &Arena, class: Class) -> impl Iterator<Item = u64> + use<'_> {
    let capacity = capacity(arena, class);
    (0..capacity).map(move |index| find_index(arena, class, index as usize)).filter(|&object| object != 0)
}

/// Number of entries of the table.
pub(crate) fn capacity(arena: &Arena, class: Class) -> u32 {
    // Acquire: as in `find_index`.
    let table = arena.header().root(class).table.load(Acquire);
    arena.get::<Table>(table).map_or(0, Table::capacity)
}
