//! The storage of a message: a cell in a slab. Cells have fixed sizes, based on powers of two.
//!
//! A slab is a block of the heap that holds cells of one size. A queue owns the slabs of its messages, and gives them
//! back when it is removed. A participant owns one slab with one cell, its mailbox. The mailbox holds a message that
//! was handed over to the participant, or one that waits with it for room.

use crate::store::{Arena, Shared};
use core::ptr::NonNull;
use unspin_sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Header of a cell; the text follows it.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct MessageCell {
    /// Order of arrival in the queue, from 1; 0 while the cell holds no message. The store to this field sends a
    /// message, or receives it.
    pub serial: AtomicU64,
    /// The message's `mtype`.
    pub mtype: AtomicI64,
    /// Offset of the next cell in the list of messages, or in the list of free cells. Derived.
    pub next: AtomicU64,
    /// Length of the text in bytes.
    size: AtomicU32,
    /// The cell's [`CellSize`]. Immutable.
    class: AtomicU32,
}

// SAFETY: atomics only, valid for every bit pattern.
unsafe impl Shared for MessageCell {}

/// Header of a slab; its cells follow it.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(crate) struct Slab {
    /// Offset of the owner's next slab; 0: none.
    pub next: AtomicU64,
    /// The [`CellSize`] of its cells. Immutable.
    class: AtomicU32,
    /// Number of cells. Immutable.
    count: AtomicU32,
}

// SAFETY: atomics only, valid for every bit pattern.
unsafe impl Shared for Slab {}

/// Offset within a cell of the field with the length of its text.
pub(super) const SIZE_AT: u64 = core::mem::offset_of!(MessageCell, size) as u64;

const SLAB: u64 = size_of::<Slab>() as u64;
const CELL: u64 = size_of::<MessageCell>() as u64;

/// One of the fixed sizes of cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CellSize(u32);

impl CellSize {
    /// Number of sizes. The largest holds more than `INT_MAX` bytes, the most that a message can have (`msgmax`).
    pub const COUNT: usize = 26;
    /// From this size on a cell has an additional cache line, so that a cell for 8192 bytes, the usual limit, need not
    /// be twice as large.
    const LARGE: u32 = 7;

    /// The smallest size for a text of this many bytes; `None` if no size is large enough.
    #[inline]
    pub fn smallest_for(text: usize) -> Option<CellSize> {
        let bytes = (text as u64).checked_add(CELL)?;
        let power = |bytes: u64| bytes.max(64).checked_next_power_of_two().map(|b| b.trailing_zeros() - 6);
        let size = match power(bytes)? {
            small if small < CellSize::LARGE => small,
            // The additional line may make the next power unnecessary.
            _ => power(bytes - 64)?.max(CellSize::LARGE),
        };
        (size < CellSize::COUNT as u32).then_some(CellSize(size))
    }

    /// Index of this size among all sizes.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    fn from_shared(number: u32) -> CellSize {
        CellSize(number.min(CellSize::COUNT as u32 - 1))
    }

    /// Distance in bytes from one cell to the next.
    fn stride(self) -> u64 {
        (64 << self.0) + if self.0 >= CellSize::LARGE { 64 } else { 0 }
    }

    /// Most bytes of text in a cell of this size.
    pub fn capacity(self) -> usize {
        (self.stride() - CELL) as usize
    }

    /// Size in bytes of a slab with this many cells.
    pub fn slab_bytes(self, count: u32) -> u64 {
        SLAB + self.stride() * u64::from(count)
    }

    /// Number of cells (at least 1) in a slab that fills a heap block of `block` bytes, of which the heap itself takes
    /// 64.
    pub fn cells_in(self, block: u64) -> u32 {
        (block.saturating_sub(SLAB + 64) / self.stride()).max(1) as u32
    }
}

impl Slab {
    /// Fills in a new, zeroed slab.
    pub fn init(arena: &Arena, at: u64, size: CellSize, count: u32) {
        // Relaxed: published by the Release store of the slab's offset.
        if let Some(slab) = arena.get::<Slab>(at) {
            slab.class.store(size.0, Relaxed);
            slab.count.store(count, Relaxed);
        }
        for (_, cell) in Slab::cells(arena, at) {
            cell.class.store(size.0, Relaxed);
        }
    }

    /// Size of its cells.
    pub fn size(&self) -> CellSize {
        // Relaxed: immutable once published.
        CellSize::from_shared(self.class.load(Relaxed))
    }

    /// The cells of the slab at an offset, with their offsets.
    pub fn cells(arena: &Arena, at: u64) -> impl Iterator<Item = (u64, &MessageCell)> + use<'_> {
        // Relaxed: immutable once published.
        let (count, stride) =
            arena.get::<Slab>(at).map_or((0, 64), |slab| (slab.count.load(Relaxed), slab.size().stride()));
        (0..u64::from(count)).map_while(move |i| {
            let at = at + SLAB + i * stride;
            Some((at, arena.get::<MessageCell>(at)?))
        })
    }

    /// Offset of the first cell of the slab at an offset.
    pub fn first(at: u64) -> u64 {
        at + SLAB
    }
}

impl MessageCell {
    /// The cell's size class.
    pub fn class(&self) -> CellSize {
        // Relaxed: immutable once published.
        CellSize::from_shared(self.class.load(Relaxed))
    }

    /// Length of the text in bytes.
    #[inline]
    pub fn size(&self) -> usize {
        // Relaxed: under the queue's lock.
        self.size.load(Relaxed) as usize
    }

    /// Stores type and length of the text that was written into the cell.
    #[inline]
    pub fn describe(&self, mtype: i64, size: usize) {
        // Relaxed: under the queue's lock; published with the message.
        self.mtype.store(mtype, Relaxed);
        self.size.store(size as u32, Relaxed);
    }

    /// The text, of `size` bytes, of the cell at an offset; `None` if it does not lie inside the arena.
    #[inline]
    pub fn text(arena: &Arena, at: u64, size: usize) -> Option<NonNull<u8>> {
        arena.bytes_at(at.checked_add(CELL)?, size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_fitting_cell_is_chosen() {
        assert_eq!(CellSize::smallest_for(0), Some(CellSize(0)));
        assert_eq!(CellSize::smallest_for(32), Some(CellSize(0)));
        assert_eq!(CellSize::smallest_for(33), Some(CellSize(1)));
        assert_eq!(CellSize::smallest_for(8192).map(CellSize::stride), Some(8256));
        assert_eq!(CellSize::smallest_for(8193 + 64), Some(CellSize(8)));
        assert!(CellSize::smallest_for(i32::MAX as usize).is_some());
        assert_eq!(CellSize::smallest_for(CellSize(CellSize::COUNT as u32 - 1).capacity() + 1), None);
        assert_eq!(CellSize::smallest_for(usize::MAX), None);
        for n in 1..CellSize::COUNT as u32 {
            let (less, size) = (CellSize(n - 1), CellSize(n));
            assert_eq!(CellSize::smallest_for(less.capacity()), Some(less));
            assert_eq!(CellSize::smallest_for(less.capacity() + 1), Some(size));
            assert!(size.stride().is_multiple_of(64));
        }
    }

    #[test]
    fn slab_fills_its_heap_block() {
        assert_eq!(CellSize(0).cells_in(4096), 62);
        assert_eq!(CellSize(7).cells_in(4096), 1, "one cell at least");
        assert!(CellSize(1).slab_bytes(CellSize(1).cells_in(16_384)) + 64 <= 16_384);
    }
}
