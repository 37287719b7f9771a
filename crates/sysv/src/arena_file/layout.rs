//! The arena: one file that every participating process maps shared.
//!
//! | from | contents |
//! |---|---|
//! | 0 | [`Header`]: magic, roots of the registries, heap root, RCU domain, locks |
//! | `SLOTS_AT` | RCU slots, one per participating thread |
//! | `PARTICIPANTS_AT` | [`ParticipantRecord`] records, with the same indices |
//! | `PROCESSES_AT` | the table of processes with adjustments (`SEM_UNDO`) |
//! | `PROCESS_WORDS_AT` | a page for each of these, with its robust word ([`unspin_sys::robust`]) |
//! | `PARTICIPANT_WORDS_AT` | a page for each participant, with its robust word |
//! | `HEAP_AT` | heap: tables, maps, objects |
//! | last page | [`Footer`]: identifies an arena whose first page was overwritten |
//!
//! The file is sparse. Pages are reserved before they are written, so that a full file system is an error and not a
//! fault. A new arena is completed under a temporary name and then linked to its own name, so that no process sees it
//! incomplete. A process closes the file after mapping it, because programs close descriptors that they do not know.
//! Positions are byte offsets, checked at each use: a corrupted offset may lead to wrong data, but never
//! outside the arena.

use crate::class::Class;
use crate::participant::{MAX_PROCESSES, ParticipantRecord};
use crate::recovery::process;
use crate::registry::Root;
use crate::shm::SegmentInCreation;
use crate::store::heap::Heap;
use crate::store::{Arena, PAGE, Shared};
use crate::sync::lock::{self, Lock};
use unspin_rcu::{DeferredFrees, Domain, Slot};
use unspin_sync::atomic::Ordering::{Relaxed, Release};
use unspin_sync::atomic::{AtomicU32, AtomicU64};
use unspin_sys::{Errno, robust};

// SAFETY: atomics only.
unsafe impl Shared for crate::sem::UndoHeader {}
// SAFETY: atomics only.
unsafe impl Shared for process::ProcessEntry {}
// SAFETY: atomics only. By its documentation it is valid when zeroed, and every word decodes to a value.
unsafe impl Shared for Slot {}
// SAFETY: atomics only.
unsafe impl Shared for Lock {}
// SAFETY: atomics only.
unsafe impl Shared for ParticipantRecord {}
// SAFETY: atomics only.
unsafe impl Shared for crate::registry::Perm {}
// SAFETY: atomics only.
unsafe impl Shared for crate::sem::Set {}
// SAFETY: atomics only.
unsafe impl Shared for crate::sem::Sem {}
// SAFETY: atomics only.
unsafe impl Shared for crate::shm::SegmentEntry {}
// SAFETY: atomics only.
unsafe impl Shared for crate::shm::SegmentInCreation {}
// SAFETY: atomics only.
unsafe impl Shared for Root {}
// SAFETY: atomics, and types that consist of them.
unsafe impl Shared for Header {}

/// Identifies an arena file. The last byte is the version.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"unspinA\x06");

/// The last page of an arena. Written once. It is read to identify an arena whose first page may be overwritten.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Footer {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// The IPC namespace, as in the header.
    pub namespace: [AtomicU64; 2],
}

// SAFETY: atomics only.
unsafe impl Shared for Footer {}

/// Replaces the magic number in an arena that one of its users has found overwritten. No version has this number.
pub(crate) const POISONED: u64 = u64::from_le_bytes(*b"unspinA\xFF");

/// A value of [`Header::changes`] under which no thread has cached anything.
pub(crate) const NEVER: u64 = u64::MAX;

/// Most threads that can participate at the same time. Slots of dead participants are found and reused.
pub(crate) const MAX_PARTICIPANTS: u32 = 16_384;

const _: () = assert!(MAX_PARTICIPANTS <= lock::MAX_OWNERS);

/// The first page of an arena.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Header {
    /// [`MAGIC`]; [`POISONED`] once the arena is poisoned. Otherwise immutable.
    pub magic: AtomicU64,
    /// Length of the file in bytes. Immutable.
    pub bytes: AtomicU64,
    /// The [`crate::Kind`] that the arena was made for. Immutable.
    pub kind: AtomicU32,
    /// Size of [`ParticipantRecord`]: builds with other layouts refuse the arena. Immutable.
    pub layout: AtomicU32,
    /// The IPC namespace that the arena belongs to: inode number and id. Immutable.
    pub namespace: [AtomicU64; 2],
    /// How many times a thread has joined; 0 if no call reached the engine.
    pub joined: AtomicU64,
    /// Counts removals of objects and changes of permissions: what a thread has cached is valid while this does not
    /// change.
    pub changes: Apart<AtomicU64>,
    /// The one lock of the `global` engine.
    pub global: Apart<Lock>,
    /// Held to add or remove objects of any class. It also protects the heap and deferred memory.
    pub registry: Apart<Lock>,
    /// Tables of objects and keys, by [`Class`].
    pub roots: [Apart<Root>; 3],
    /// Number of entries of the table of processes that were ever used. Written under the registry lock.
    pub processes: AtomicU32,
    /// The shared memory segment that is being made. Protected by the registry lock.
    pub making: Apart<SegmentInCreation>,
    /// Free memory. Protected by the registry lock.
    pub heap: Apart<Heap>,
    /// State of the RCU grace periods.
    pub domain: Apart<Domain>,
    /// Memory that is freed after a grace period. Protected by the registry lock.
    pub deferred: Apart<DeferredFrees>,
}

impl Header {
    /// The table of objects and keys of a class.
    #[inline(always)]
    pub fn root(&self, class: Class) -> &Root {
        &self.roots[class as usize].0
    }

    /// Offset of [`Header::root`] in the arena.
    pub fn root_offset(class: Class) -> u64 {
        (core::mem::offset_of!(Header, roots) + class as usize * size_of::<Apart<Root>>()) as u64
    }
}

/// Puts a value on cache lines of its own.
#[repr(C, align(128))]
#[derive(Debug)]
pub(crate) struct Apart<T>(pub T);

pub(crate) const SLOTS_AT: u64 = (size_of::<Header>() as u64).next_multiple_of(PAGE);
pub(crate) const PARTICIPANTS_AT: u64 =
    (SLOTS_AT + MAX_PARTICIPANTS as u64 * size_of::<Slot>() as u64).next_multiple_of(PAGE);
pub(crate) const PROCESSES_AT: u64 = (PARTICIPANTS_AT
    + MAX_PARTICIPANTS as u64 * size_of::<ParticipantRecord>() as u64)
    .next_multiple_of(PAGE);
const PROCESS_WORDS_AT: u64 =
    (PROCESSES_AT + MAX_PROCESSES as u64 * size_of::<process::ProcessEntry>() as u64).next_multiple_of(PAGE);
const PARTICIPANT_WORDS_AT: u64 = PROCESS_WORDS_AT + MAX_PROCESSES as u64 * PAGE;
pub(crate) const HEAP_AT: u64 = PARTICIPANT_WORDS_AT + MAX_PARTICIPANTS as u64 * PAGE;

/// Smallest size in bytes: the fixed part and a MiB of heap, which includes the footer.
pub(super) const SMALLEST: u64 = HEAP_AT + (1 << 20);

impl Arena {
    /// Whether the arena is intact, judged by its magic number.
    #[inline]
    pub fn is_whole(&self) -> bool {
        // Relaxed: immutable, unless the arena is overwritten or poisoned.
        self.header().magic.load(Relaxed) == MAGIC
    }

    /// Replaces the mapping by private zeroed memory of this process, after the file was truncated or overwritten.
    /// Threads drop what they have cached of the arena. Returns whether the mapping was replaced.
    pub fn abandon(&self) -> bool {
        let replaced = self.replace();
        // Relaxed: no thread has cached anything under this count, so it may see the store at any time.
        self.header().changes.0.store(NEVER, Relaxed);
        replaced.is_ok()
    }

    /// Poisons the arena: marks it as unusable for all processes.
    pub fn poison(&self) {
        // Relaxed (both): each store is complete by itself. The second makes threads drop their caches, so that they
        // check the first.
        self.header().magic.store(POISONED, Relaxed);
        self.header().changes.0.store(NEVER, Relaxed);
    }

    /// Offset of the beginning of the heap.
    pub fn heap_start(&self) -> u64 {
        HEAP_AT
    }

    /// Offset of the end of the heap.
    pub fn heap_end(&self) -> u64 {
        self.bytes().saturating_sub(PAGE)
    }

    /// The first page.
    #[inline(always)]
    pub fn header(&self) -> &Header {
        self.get(0).expect("an arena is longer than its header: checked when it was opened")
    }

    /// Makes all threads drop what they have cached of the table. Part of unlinking an object: called after the object
    /// is out of the table, and before the start of the grace period that its memory waits for.
    pub fn note_change(&self) {
        // Release: partner of the Acquire in `Thread::cached_set` and `Inner::cache_set`.
        self.header().changes.0.fetch_add(1, Release);
    }

    /// All RCU slots.
    pub fn slots(&self) -> &[Slot] {
        self.slice(SLOTS_AT, MAX_PARTICIPANTS as usize).expect("checked when the arena was opened")
    }

    /// The records of the first `count` participants.
    #[inline]
    pub fn participants(&self, count: usize) -> &[ParticipantRecord] {
        self.slice(PARTICIPANTS_AT, count.min(MAX_PARTICIPANTS as usize))
            .expect("checked when the arena was opened")
    }

    /// Reserves memory for the record and the robust word of participant `index`, so that they can be written.
    pub fn reserve_participant(&self, index: usize) -> Result<(), Errno> {
        let participant = size_of::<ParticipantRecord>() as u64;
        self.reserve(PARTICIPANTS_AT + index as u64 * participant, participant)?;
        self.reserve(PARTICIPANT_WORDS_AT + index as u64 * PAGE, PAGE)
    }

    /// The table of processes with adjustments.
    pub fn processes(&self) -> &[process::ProcessEntry] {
        self.slice(PROCESSES_AT, MAX_PROCESSES as usize).expect("checked when the arena was opened")
    }

    /// The robust word of process `index`, which must be below [`MAX_PROCESSES`].
    pub fn process_word(&self, index: usize) -> &AtomicU32 {
        self.robust_word(PROCESS_WORDS_AT, index.min(MAX_PROCESSES as usize - 1))
    }

    /// The robust word of participant `index`, which must be below [`MAX_PARTICIPANTS`].
    #[inline]
    pub fn participant_word(&self, index: usize) -> &AtomicU32 {
        self.robust_word(PARTICIPANT_WORDS_AT, index.min(MAX_PARTICIPANTS as usize - 1))
    }

    #[inline]
    fn robust_word(&self, words_at: u64, index: usize) -> &AtomicU32 {
        self.get(words_at + index as u64 * PAGE + robust::OFFSET as u64)
            .expect("checked when the arena was opened")
    }

    /// Reserves memory for the entry and the robust word of process `index`.
    pub fn reserve_process(&self, index: usize) -> Result<(), Errno> {
        let entry = size_of::<process::ProcessEntry>() as u64;
        self.reserve(PROCESSES_AT + index as u64 * entry, entry)?;
        self.reserve(PROCESS_WORDS_AT + index as u64 * PAGE, PAGE)
    }
}
