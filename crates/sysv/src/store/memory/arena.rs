//! A mapped arena: typed values at byte offsets.
//!
//! Positions are byte offsets, checked at each use: a corrupted offset may lead to wrong data, but never outside the
//! arena. `arena_file` says what lies where.

use core::ptr::NonNull;
use unspin_sync::atomic::{AtomicU16, AtomicU32, AtomicU64};
use unspin_sys::Errno;
use unspin_sys::mem::{self, Mapping};
use unspin_sys::page;

/// Types that may be stored in an arena.
///
/// # Safety
/// Every bit pattern must be a valid value. All fields must be changeable through a shared reference (atomics). There
/// must be no pointers.
pub(crate) unsafe trait Shared {}

// SAFETY: an atomic integer.
unsafe impl Shared for AtomicU64 {}
// SAFETY: an atomic integer.
unsafe impl Shared for AtomicU32 {}
// SAFETY: an atomic integer.
unsafe impl Shared for AtomicU16 {}
/// Size of a page in bytes.
pub(crate) const PAGE: u64 = page::BYTES as u64;

/// A mapped arena. It stays mapped until the process ends, because threads keep references into it. Its file is closed:
/// programs close descriptors that they do not know, and open their own under the same numbers.
#[derive(Debug)]
pub(crate) struct Arena {
    start: NonNull<u8>,
    bytes: u64,
}

// SAFETY: the mapping is never unmapped, and all access goes through `Shared` types, which are atomics.
unsafe impl Send for Arena {}
// SAFETY: as for Send.
unsafe impl Sync for Arena {}

impl Arena {
    /// The arena in a mapped file. The mapping stays until the process ends.
    pub fn new(map: Mapping) -> Arena {
        let bytes = map.len() as u64;
        Arena { start: map.leak(), bytes }
    }

    /// An arena in memory that belongs to the caller.
    ///
    /// # Safety
    /// The memory must stay mapped as long as the arena and references into it are used.
    pub unsafe fn over(memory: &Mapping) -> Arena {
        Arena { start: memory.start(), bytes: memory.len() as u64 }
    }

    /// Whether an address lies in the arena.
    pub fn contains(&self, address: usize) -> bool {
        (address as u64).wrapping_sub(self.start.as_ptr() as u64) < self.bytes
    }

    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The value at `offset`; `None` if it does not lie inside the arena or is not aligned.
    #[inline(always)]
    pub fn get<T: Shared>(&self, offset: u64) -> Option<&T> {
        Some(&self.slice::<T>(offset, 1)?[0])
    }

    /// `count` values beginning at `offset`; `None` if they do not all lie inside the arena or are not aligned.
    #[inline(always)]
    pub fn slice<T: Shared>(&self, offset: u64, count: usize) -> Option<&[T]> {
        let size = (size_of::<T>() as u64).checked_mul(count as u64)?;
        if offset > self.bytes || size > self.bytes - offset || !offset.is_multiple_of(align_of::<T>() as u64)
        {
            return None;
        }
        // SAFETY: 1. the range lies inside the mapping, which starts at a page boundary and lives as long as the
        // process; 2. the offset is aligned for T; 3. `Shared` promises that any bits are a valid T and that shared
        // references suffice to change it.
        Some(unsafe {
            core::slice::from_raw_parts(self.start.as_ptr().add(offset as usize).cast::<T>(), count)
        })
    }

    /// The inverse of [`Arena::get`].
    #[inline(always)]
    pub fn offset_of<T: Shared>(&self, thing: &T) -> u64 {
        (core::ptr::from_ref(thing) as usize - self.start.as_ptr() as usize) as u64
    }

    /// `len` bytes beginning at `offset`, for message texts; `None` if they do not all lie inside the arena. A lock, or
    /// the owner of the memory, decides which thread may use them.
    #[inline(always)]
    pub fn bytes_at(&self, offset: u64, len: usize) -> Option<NonNull<u8>> {
        if offset > self.bytes || len as u64 > self.bytes - offset {
            return None;
        }
        // SAFETY: the range lies inside the mapping.
        Some(unsafe { self.start.add(offset as usize) })
    }

    /// Reserves `offset..offset+len`, so that it can be written. A page that cannot be allocated is an error here, and
    /// would be a fault at the store. `ENOSPC` if the file system is full, `ENOMEM` beyond the end of the arena.
    pub fn reserve(&self, offset: u64, len: u64) -> Result<(), Errno> {
        match offset.checked_add(len) {
            Some(end) if end <= self.bytes => {
                // SAFETY: the range lies inside the mapping.
                let start = unsafe { self.start.add(offset as usize) };
                mem::populate(start, len as usize).map_err(|error| match error {
                    // madvise(2): EFAULT where a store would have raised SIGBUS.
                    Errno::EFAULT => Errno::ENOSPC,
                    other => other,
                })
            }
            _ => Err(Errno::ENOMEM),
        }
    }

    /// Replaces the mapping by private zeroed memory of this process.
    pub fn replace(&self) -> Result<(), Errno> {
        // SAFETY: 1. the mapping is ours, and stays mapped, so that references into it stay valid; 2. `Shared` promises
        // that zeroes, which appear while references exist, are a valid value of everything in it.
        unsafe { mem::replace(self.start, self.bytes as usize) }
    }

    /// Gives the whole pages inside `offset..offset+len` back to the system. The range must be an unused part of the
    /// heap; it reads as zero afterwards.
    pub fn punch(&self, offset: u64, len: u64) {
        if offset >= self.heap_start() && offset.checked_add(len).is_some_and(|end| end <= self.bytes) {
            // SAFETY: 1. the range lies inside the mapping; 2. the caller owns a free block of the heap.
            // A failure only keeps unused memory allocated; nothing can be done about it.
            let _ = unsafe { mem::discard(self.start.add(offset as usize), len as usize) };
        }
    }
}
