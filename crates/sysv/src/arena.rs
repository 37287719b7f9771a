//! The arena: one file, mapped shared by every process that takes part.
//!
//! | from | what |
//! |---|---|
//! | 0 | [`Header`]: magic, roots of the registries, heap root, RCU domain, locks |
//! | `slots_at` | RCU slots, one per participating thread |
//! | `people_at` | [`Participant`]s, under the same index |
//! | `processes_at` | who has adjustments of `SEM_UNDO` |
//! | `lives_at` | a page for each of these, with the word that tells of its end ([`unspin_sys::robust`]) |
//! | `heap_at` | heap: tables, maps, sets |
//! | last page | [`Footer`]: what tells an arena whose head was overwritten |
//!
//! The file is sparse; what is written is reserved first, so that a full file system is an error and not a
//! fault. It is made complete under another name and linked to its own, so that nobody sees half of it.
//! Positions are byte offsets, checked at each use: a corrupted offset finds nothing, never foreign memory.

mod error;
mod file;
mod glimpse;
mod outside;

pub use error::ArenaError;
pub(crate) use file::BESIDE;
pub use file::Options;
pub(crate) use glimpse::Glimpse;
pub use outside::times_joined;
pub(crate) use outside::{is_arena, load, load_objects, namespace, open_to_read, read};

use crate::heap::Heap;
use crate::ipc::{Class, Root};
use crate::lock::Lock;
use crate::participant::{MAX_PROCESSES, Participant};
use crate::process;
use crate::shm::Making;
use core::ptr::NonNull;
use unspin_rcu::{Deferred, Domain, Slot};
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sync::atomic::{AtomicU16, AtomicU32, AtomicU64};
use unspin_sys::mem::Mapping;
use unspin_sys::{page, robust};

/// What may lie in an arena.
///
/// # Safety
/// Every bit pattern must be a valid value, all fields must be changeable through a shared reference (atomics),
/// and there must be no pointers.
pub(crate) unsafe trait Shared {}

// SAFETY: an atomic integer.
unsafe impl Shared for AtomicU64 {}
// SAFETY: an atomic integer.
unsafe impl Shared for AtomicU32 {}
// SAFETY: an atomic integer.
unsafe impl Shared for AtomicU16 {}
// SAFETY: atomics only.
unsafe impl Shared for crate::sem::Undo {}
// SAFETY: atomics only.
unsafe impl Shared for process::Entry {}
// SAFETY: atomics only, by its own documentation valid when zeroed, and every word decodes to something.
unsafe impl Shared for Slot {}
// SAFETY: atomics only.
unsafe impl Shared for Lock {}
// SAFETY: atomics only.
unsafe impl Shared for Participant {}
// SAFETY: atomics only.
unsafe impl Shared for crate::ipc::Perm {}
// SAFETY: atomics only.
unsafe impl Shared for crate::sem::Set {}
// SAFETY: atomics only.
unsafe impl Shared for crate::sem::Sem {}
// SAFETY: atomics only.
unsafe impl Shared for crate::shm::Segment {}
// SAFETY: atomics only.
unsafe impl Shared for crate::shm::Making {}
// SAFETY: atomics only.
unsafe impl Shared for Root {}
// SAFETY: atomics, and types that consist of them.
unsafe impl Shared for Header {}

/// Says what a file is. The last byte is the version's.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"unspinA\x05");

/// The last page of an arena: written once, and read by those who have to do with one whose first page was overwritten.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Footer {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// As in the header.
    pub namespace: [AtomicU64; 2],
}

// SAFETY: atomics only.
unsafe impl Shared for Footer {}

/// In the magic number's place: an arena that somebody who used it has found overwritten. No version has this number.
pub(crate) const CONDEMNED: u64 = u64::from_le_bytes(*b"unspinA\xFF");

/// A count of changes under which no thread remembers anything.
pub(crate) const NEVER: u64 = u64::MAX;

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
    /// The IPC namespace that it is of: inode number, and id. Immutable.
    pub namespace: [AtomicU64; 2],
    /// How often a thread joined: none, if no call came to the engine.
    pub joined: AtomicU64,
    /// Objects removed so far, and permissions changed: what a thread remembers is valid while this does not change.
    pub changes: Apart<AtomicU64>,
    /// The one lock of the `global` engine.
    pub global: Apart<Lock>,
    /// Taken to add or remove objects of any class; protects heap and deferred memory too.
    pub registry: Apart<Lock>,
    /// Objects and keys, by [`Class`].
    pub roots: [Apart<Root>; 3],
    /// Entries of the table of processes that were ever used. Written under the registry lock.
    pub processes: AtomicU32,
    /// The segment that is being made. Protected by the registry lock.
    pub making: Apart<Making>,
    /// Free memory. Protected by the registry lock.
    pub heap: Apart<Heap>,
    /// Grace periods.
    pub domain: Apart<Domain>,
    /// Memory that waits for one. Protected by the registry lock.
    pub deferred: Apart<Deferred>,
}

impl Header {
    /// Objects and keys of a class.
    #[inline(always)]
    pub fn root(&self, class: Class) -> &Root {
        &self.roots[class as usize].0
    }

    /// Offset of that in the arena.
    pub fn root_offset(class: Class) -> u64 {
        (core::mem::offset_of!(Header, roots) + class as usize * size_of::<Apart<Root>>()) as u64
    }
}

/// On cache lines of its own.
#[repr(C, align(128))]
#[derive(Debug)]
pub(crate) struct Apart<T>(pub T);

/// Bytes of a page.
pub(crate) const PAGE: u64 = page::BYTES as u64;

pub(crate) const SLOTS_AT: u64 = (size_of::<Header>() as u64).next_multiple_of(PAGE);
pub(crate) const PEOPLE_AT: u64 =
    (SLOTS_AT + MAX_PARTICIPANTS as u64 * size_of::<Slot>() as u64).next_multiple_of(PAGE);
pub(crate) const PROCESSES_AT: u64 =
    (PEOPLE_AT + MAX_PARTICIPANTS as u64 * size_of::<Participant>() as u64).next_multiple_of(PAGE);
const LIVES_AT: u64 =
    (PROCESSES_AT + MAX_PROCESSES as u64 * size_of::<process::Entry>() as u64).next_multiple_of(PAGE);
pub(crate) const HEAP_AT: u64 = LIVES_AT + MAX_PROCESSES as u64 * PAGE;

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

    /// Whether an address lies in it.
    pub fn contains(&self, address: usize) -> bool {
        (address as u64).wrapping_sub(self.start.as_ptr() as u64) < self.bytes
    }

    /// Whether the arena is one still, as far as its first word tells.
    #[inline]
    pub fn is_whole(&self) -> bool {
        // Relaxed: immutable, unless somebody does harm.
        self.header().magic.load(Relaxed) == MAGIC
    }

    /// Puts memory of this process alone, all zero, in the place of a file that was cut short. What threads remember of it
    /// they forget. Whether that could be done.
    pub fn abandon(&self) -> bool {
        // SAFETY: 1. the mapping is ours, and stays mapped, so that references into it stay good; 2. `Shared` promises that
        // zeroes, which appear under everybody's hands, are a valid value of everything in it.
        let replaced = unsafe { unspin_sys::mem::replace(self.start, self.bytes as usize) };
        // Relaxed: no thread remembers anything under this number, whenever it sees it.
        self.header().changes.0.store(NEVER, Relaxed);
        replaced.is_ok()
    }

    /// Marks the arena as one that is of no use any more, to everybody.
    pub fn condemn(&self) {
        // Relaxed (both): each says all there is to know. What threads remember they forget, so that they ask.
        self.header().magic.store(CONDEMNED, Relaxed);
        self.header().changes.0.store(NEVER, Relaxed);
    }

    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Offset behind the heap.
    pub fn heap_end(&self) -> u64 {
        self.bytes.saturating_sub(PAGE)
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

    /// The inverse of [`Arena::get`].
    #[inline(always)]
    pub fn offset_of<T: Shared>(&self, thing: &T) -> u64 {
        (core::ptr::from_ref(thing) as usize - self.start.as_ptr() as usize) as u64
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

    /// `len` bytes beginning at `offset`, for texts, of which a lock or their owner says who may use them; `None` if they are not
    /// all inside.
    #[inline(always)]
    pub fn bytes_at(&self, offset: u64, len: usize) -> Option<NonNull<u8>> {
        if offset > self.bytes || len as u64 > self.bytes - offset {
            return None;
        }
        // SAFETY: inside the mapping.
        Some(unsafe { self.start.add(offset as usize) })
    }

    /// Makes sure that the records of participant `index` can be written.
    pub fn reserve_participant(&self, index: usize) -> Result<(), unspin_sys::Errno> {
        let person = size_of::<Participant>() as u64;
        self.reserve(PEOPLE_AT + index as u64 * person, person)
    }

    /// The table of processes with adjustments.
    pub fn processes(&self) -> &[process::Entry] {
        self.slice(PROCESSES_AT, MAX_PROCESSES as usize).expect("checked when the arena was opened")
    }

    /// The word that tells of the end of process `index`, below [`MAX_PROCESSES`].
    pub fn life(&self, index: usize) -> &AtomicU32 {
        let at = LIVES_AT + index.min(MAX_PROCESSES as usize - 1) as u64 * PAGE + robust::OFFSET as u64;
        self.get(at).expect("checked when the arena was opened")
    }

    /// Makes sure that the entry and the word of process `index` can be written.
    pub fn reserve_process(&self, index: usize) -> Result<(), unspin_sys::Errno> {
        let entry = size_of::<process::Entry>() as u64;
        self.reserve(PROCESSES_AT + index as u64 * entry, entry)?;
        self.reserve(LIVES_AT + index as u64 * PAGE, PAGE)
    }

    /// Makes sure that `offset..offset+len` can be written: a page that cannot be had is an error here, and a fault
    /// at the store: `ENOSPC` where the file system is full, `ENOMEM` beyond the end.
    pub fn reserve(&self, offset: u64, len: u64) -> Result<(), unspin_sys::Errno> {
        match offset.checked_add(len) {
            Some(end) if end <= self.bytes => {
                // SAFETY: inside the mapping.
                let start = unsafe { self.start.add(offset as usize) };
                unspin_sys::mem::populate(start, len as usize).map_err(|error| match error {
                    // madvise(2): where the store would have been a bus error.
                    unspin_sys::Errno::EFAULT => unspin_sys::Errno::ENOSPC,
                    other => other,
                })
            }
            _ => Err(unspin_sys::Errno::ENOMEM),
        }
    }

    /// Gives back the whole pages inside `offset..offset+len`, a range of the heap that nobody uses; they read as zero afterwards.
    pub fn punch(&self, offset: u64, len: u64) {
        if offset >= HEAP_AT && offset.checked_add(len).is_some_and(|end| end <= self.bytes) {
            // SAFETY: 1. inside the mapping; 2. the caller owns a free block of the heap.
            // A failure keeps memory that nobody uses: nothing to be done about it.
            let _ = unsafe { unspin_sys::mem::discard(self.start.add(offset as usize), len as usize) };
        }
    }
}
