//! Where a message lies: a cell, of one of the sizes that powers of two give, in a slab.
//!
//! A slab is a block of the heap that holds cells of one size. A queue owns the slabs of its messages and gives them back when
//! it is removed; a participant owns one with one cell, its mailbox, for a message that was handed over to it, or that waits
//! with it for room.

use crate::arena::{Arena, Shared};
use core::ptr::NonNull;
use unspin_sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Header of a cell; the text follows.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Cell {
    /// Order of arrival in the queue, from 1; 0 while the cell holds no message. The one store that makes a message, or ends
    /// it.
    pub serial: AtomicU64,
    /// `mtype`.
    pub kind: AtomicI64,
    /// Offset of the next cell in the list of messages, or in that of free cells. Derived.
    pub next: AtomicU64,
    /// Bytes of text.
    size: AtomicU32,
    /// [`Size`]. Immutable.
    class: AtomicU32,
}

// SAFETY: atomics only, valid for every bit pattern.
unsafe impl Shared for Cell {}

/// Header of a slab; its cells follow.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(crate) struct Slab {
    /// Offset of the owner's next slab; 0: none.
    pub next: AtomicU64,
    /// [`Size`] of its cells. Immutable.
    class: AtomicU32,
    /// Cells. Immutable.
    count: AtomicU32,
}

// SAFETY: atomics only, valid for every bit pattern.
unsafe impl Shared for Slab {}

/// Where in a cell the size of its text stands.
pub(super) const SIZE_AT: u64 = core::mem::offset_of!(Cell, size) as u64;

const SLAB: u64 = size_of::<Slab>() as u64;
const CELL: u64 = size_of::<Cell>() as u64;

/// One of the sizes that cells have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Size(u32);

impl Size {
    /// How many there are: the largest holds more than a message can have, which is `INT_MAX` bytes (`msgmax`).
    pub const COUNT: usize = 26;
    /// From this one on a cell takes a cache line more, so that what holds 8192 bytes, the usual limit, need not be twice as
    /// large.
    const LARGE: u32 = 7;

    /// The smallest that holds a text of so many bytes; `None` beyond the largest.
    #[inline]
    pub fn fitting(text: usize) -> Option<Size> {
        let bytes = (text as u64).checked_add(CELL)?;
        let power = |bytes: u64| bytes.max(64).checked_next_power_of_two().map(|b| b.trailing_zeros() - 6);
        let size = match power(bytes)? {
            small if small < Size::LARGE => small,
            // Its additional line may spare it the next power.
            _ => power(bytes - 64)?.max(Size::LARGE),
        };
        (size < Size::COUNT as u32).then_some(Size(size))
    }

    /// Its place among all.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    fn from_shared(number: u32) -> Size {
        Size(number.min(Size::COUNT as u32 - 1))
    }

    /// Bytes from one cell to the next.
    fn stride(self) -> u64 {
        (64 << self.0) + if self.0 >= Size::LARGE { 64 } else { 0 }
    }

    /// Bytes of text.
    pub fn capacity(self) -> usize {
        (self.stride() - CELL) as usize
    }

    /// Bytes of a slab of so many cells.
    pub fn slab_bytes(self, count: u32) -> u64 {
        SLAB + self.stride() * u64::from(count)
    }

    /// How many cells make a slab that has, with the heap's own 64 bytes, so many.
    pub fn cells_in(self, block: u64) -> u32 {
        (block.saturating_sub(SLAB + 64) / self.stride()).max(1) as u32
    }
}

impl Slab {
    /// Fills in a new, zeroed slab.
    pub fn init(arena: &Arena, at: u64, size: Size, count: u32) {
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
    pub fn size(&self) -> Size {
        // Relaxed: immutable once published.
        Size::from_shared(self.class.load(Relaxed))
    }

    /// The cells of the slab at an offset, with theirs.
    pub fn cells(arena: &Arena, at: u64) -> impl Iterator<Item = (u64, &Cell)> + use<'_> {
        // Relaxed: immutable once published.
        let (count, stride) =
            arena.get::<Slab>(at).map_or((0, 64), |slab| (slab.count.load(Relaxed), slab.size().stride()));
        (0..u64::from(count)).map_while(move |i| {
            let at = at + SLAB + i * stride;
            Some((at, arena.get::<Cell>(at)?))
        })
    }

    /// Offset of the first cell of the slab at an offset.
    pub fn first(at: u64) -> u64 {
        at + SLAB
    }
}

impl Cell {
    /// Its size.
    pub fn class(&self) -> Size {
        // Relaxed: immutable once published.
        Size::from_shared(self.class.load(Relaxed))
    }

    /// Bytes of text.
    #[inline]
    pub fn size(&self) -> usize {
        // Relaxed: under the queue's lock.
        self.size.load(Relaxed) as usize
    }

    /// Notes type and size of what was written into the cell.
    #[inline]
    pub fn describe(&self, kind: i64, size: usize) {
        // Relaxed: under the queue's lock; published with the message.
        self.kind.store(kind, Relaxed);
        self.size.store(size as u32, Relaxed);
    }

    /// The text of the cell at an offset, of so many bytes; `None` if they are not all inside the arena.
    #[inline]
    pub fn text(arena: &Arena, at: u64, size: usize) -> Option<NonNull<u8>> {
        arena.bytes_at(at.checked_add(CELL)?, size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_has_the_smallest_cell() {
        assert_eq!(Size::fitting(0), Some(Size(0)));
        assert_eq!(Size::fitting(32), Some(Size(0)));
        assert_eq!(Size::fitting(33), Some(Size(1)));
        assert_eq!(Size::fitting(8192).map(Size::stride), Some(8256));
        assert_eq!(Size::fitting(8193 + 64), Some(Size(8)));
        assert!(Size::fitting(i32::MAX as usize).is_some());
        assert_eq!(Size::fitting(Size(Size::COUNT as u32 - 1).capacity() + 1), None);
        assert_eq!(Size::fitting(usize::MAX), None);
        for n in 1..Size::COUNT as u32 {
            let (less, size) = (Size(n - 1), Size(n));
            assert_eq!(Size::fitting(less.capacity()), Some(less));
            assert_eq!(Size::fitting(less.capacity() + 1), Some(size));
            assert!(size.stride().is_multiple_of(64));
        }
    }

    #[test]
    fn slabs_fill_their_block() {
        assert_eq!(Size(0).cells_in(4096), 62);
        assert_eq!(Size(7).cells_in(4096), 1, "one cell at least");
        assert!(Size(1).slab_bytes(Size(1).cells_in(16_384)) + 64 <= 16_384);
    }
}
