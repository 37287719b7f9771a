//! The arena: one file, mapped shared by every process that takes part.
//!
//! | from | what |
//! |---|---|
//! | 0 | [`Header`]: magic, registry root, heap root, RCU domain, global lock |
//! | `slots_at` | RCU slots, one per participating thread |
//! | `people_at` | [`Participant`]s, under the same index |
//! | `heap_at` | heap: tables, maps, sets |
//!
//! The file is sparse; what is written is reserved first, so that a full file system is an error and not a
//! fault. It is made complete under another name and linked to its own, so that nobody sees half of it.
//! Positions are byte offsets, checked at each use: a corrupted offset finds nothing, never foreign memory.

mod error;
mod file;

pub use error::ArenaError;
pub use file::{Account, Options, account};

use crate::heap::Heap;
use crate::ipc::Root;
use crate::lock::Lock;
use crate::participant::Participant;
use core::ptr::NonNull;
use unspin_rcu::{Deferred, Domain, Slot};
use unspin_sync::atomic::{AtomicU32, AtomicU64};
use unspin_sys::mem::Mapping;

/// What may lie in an arena.
///
/// # Safety
/// Every bit pattern must be a valid value, all fields must be changeable through a shared reference (atomics),
/// and there must be no pointers.
pub(crate) unsafe trait Shared {}

// SAFETY: an atomic integer.
unsafe impl Shared for AtomicU64 {}
// SAFETY: atomics only, by its own documentation valid when zeroed, and every word decodes to something.
unsafe impl Shared for Slot {}
// SAFETY: atomics only.
unsafe impl Shared for Participant {}
// SAFETY: atomics only.
unsafe impl Shared for crate::ipc::Perm {}
// SAFETY: atomics only.
unsafe impl Shared for crate::sem::Set {}
// SAFETY: atomics only.
unsafe impl Shared for crate::sem::Sem {}
// SAFETY: atomics, and types that consist of them.
unsafe impl Shared for Header {}

/// Says what a file is. The last byte is the version's.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"unspinA\x01");

/// Threads that may take part at once. A dead one's place is found and given away again.
pub(crate) const MAX_PARTICIPANTS: u32 = 16_384;

const _: () = assert!(MAX_PARTICIPANTS <= crate::lock::MAX_OWNERS);

/// First page of an arena.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Header {
    /// [`MAGIC`]. Immutable.
    pub magic: AtomicU64,
    /// Length of the file in bytes. Immutable.
    pub bytes: AtomicU64,
    /// [`crate::Kind`] it was made for. Immutable.
    pub kind: AtomicU32,
    /// Size of [`Participant`], which tells builds with other layouts apart. Immutable.
    pub layout: AtomicU32,
    /// Calls that the engine refused because it cannot do them yet: SEM_UNDO.
    pub refused: AtomicU64,
    /// How often a thread joined: none, if no call came to the engine.
    pub joined: AtomicU64,
    /// Objects removed so far, and permissions changed: what a thread remembers is valid while this does not change.
    pub changes: Apart<AtomicU64>,
    /// The one lock of the `global` engine.
    pub global: Apart<Lock>,
    /// Objects and keys.
    pub semaphores: Apart<Root>,
    /// Free memory. Protected by the registry lock.
    pub heap: Apart<Heap>,
    /// Grace periods.
    pub domain: Apart<Domain>,
    /// Memory that waits for one. Protected by the registry lock.
    pub deferred: Apart<Deferred>,
}

/// On cache lines of its own.
#[repr(C, align(128))]
#[derive(Debug)]
pub(crate) struct Apart<T>(pub T);

const SLOTS_AT: u64 = size_of::<Header>().next_multiple_of(4096) as u64;
const PEOPLE_AT: u64 = (SLOTS_AT + MAX_PARTICIPANTS as u64 * size_of::<Slot>() as u64).next_multiple_of(4096);
pub(crate) const HEAP_AT: u64 =
    (PEOPLE_AT + MAX_PARTICIPANTS as u64 * size_of::<Participant>() as u64).next_multiple_of(4096);

/// A mapped arena. Mapped for as long as the process lives: threads keep references into it. Its file is closed:
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
    fn new(map: Mapping) -> Arena {
        let bytes = map.len() as u64;
        Arena { start: map.leak(), bytes }
    }

    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What lies at `offset`; `None` if that is not inside or not aligned.
    #[inline(always)]
    pub fn get<T: Shared>(&self, offset: u64) -> Option<&T> {
        Some(&self.slice::<T>(offset, 1)?[0])
    }

    /// `count` values beginning at `offset`; `None` if they are not all inside or not aligned.
    #[inline(always)]
    pub fn slice<T: Shared>(&self, offset: u64, count: usize) -> Option<&[T]> {
        let size = (size_of::<T>() as u64).checked_mul(count as u64)?;
        if offset > self.bytes || size > self.bytes - offset || !offset.is_multiple_of(align_of::<T>() as u64)
        {
            return None;
        }
        // SAFETY: 1. the range lies inside the mapping, which starts at a page and lives as long as the
        // process; 2. the offset is aligned for T; 3. `Shared` promises that any bits are a T and that shared
        // references are all it needs.
        Some(unsafe {
            core::slice::from_raw_parts(self.start.as_ptr().add(offset as usize).cast::<T>(), count)
        })
    }

    /// The first page.
    #[inline(always)]
    pub fn header(&self) -> &Header {
        self.get(0).expect("an arena is longer than its header: checked when it was opened")
    }

    /// Makes all threads forget what they remember of the table. Part of unlinking an object: after it is out of the
    /// table and before the grace period begins that its memory waits for.
    pub fn note_change(&self) {
        // Release: partner of the Acquire in `Inner::recall`.
        self.header().changes.0.fetch_add(1, unspin_sync::atomic::Ordering::Release);
    }

    /// All RCU slots.
    pub fn slots(&self) -> &[Slot] {
        self.slice(SLOTS_AT, MAX_PARTICIPANTS as usize).expect("checked when the arena was opened")
    }

    /// The first `count` participants.
    #[inline]
    pub fn people(&self, count: usize) -> &[Participant] {
        self.slice(PEOPLE_AT, count.min(MAX_PARTICIPANTS as usize))
            .expect("checked when the arena was opened")
    }

    /// Makes sure that the records of participant `index` can be written.
    pub fn reserve_participant(&self, index: usize) -> Result<(), unspin_sys::Errno> {
        let person = size_of::<Participant>() as u64;
        self.reserve(PEOPLE_AT + index as u64 * person, person)
    }

    /// Makes sure that `offset..offset+len` can be written: a page that cannot be had is an error here, and a fault
    /// at the store. `ENOMEM` beyond the end.
    pub fn reserve(&self, offset: u64, len: u64) -> Result<(), unspin_sys::Errno> {
        match offset.checked_add(len) {
            Some(end) if end <= self.bytes => {
                // SAFETY: inside the mapping.
                unspin_sys::mem::populate(unsafe { self.start.add(offset as usize) }, len as usize)
            }
            _ => Err(unspin_sys::Errno::ENOMEM),
        }
    }

    /// Gives back the whole pages inside `offset..offset+len`, a range that nobody uses; they read as zero afterwards.
    pub fn punch(&self, offset: u64, len: u64) {
        if offset.checked_add(len).is_some_and(|end| end <= self.bytes) {
            // SAFETY: 1. inside the mapping; 2. the caller owns a free block of the heap.
            // A failure keeps memory that nobody uses: nothing to be done about it.
            let _ = unsafe { unspin_sys::mem::discard(self.start.add(offset as usize), len as usize) };
        }
    }
}
