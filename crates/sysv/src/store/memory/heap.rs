//! Memory for tables, maps and objects: an end that only rises, and free lists by powers of two.
//!
//! It is protected by the registry lock, whose holder may die at any instruction. So the holder stores a block's offset
//! in its `pending` word before it moves the block from or to a free list. After the holder's death [`resolve_pending`]
//! finds out where the block is.

use crate::participant::ParticipantRecord;
use crate::store::{Arena, Shared};
use unspin_sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::Release};
use unspin_sys::Errno;

// Relaxed: everything here is read and written under the registry lock. Release: where the order of two stores matters
// to a thread that takes over that lock from a dead holder. The dead holder's stores are in memory in program order up
// to some point, and a Release store keeps the compiler from moving earlier stores behind it.

const SMALLEST_CLASS: u32 = 8;
/// Size of the smallest block in bytes.
pub(crate) const SMALLEST: u64 = 1 << SMALLEST_CLASS;
const CLASSES: usize = 33;

/// Root of the heap. Valid when zeroed, except for `end`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Heap {
    end: AtomicU64,
    free: [AtomicU64; CLASSES],
}

/// The header before each block's payload.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Block {
    class: AtomicU32,
    is_free: AtomicU32,
    next: AtomicU64,
}

// SAFETY: atomics only, valid for every bit pattern.
unsafe impl Shared for Block {}

/// Bytes from the start of a block to its payload.
pub(crate) const HEAD: u64 = size_of::<Block>() as u64;

impl Block {
    fn is_free_one_of(&self, class: u32) -> bool {
        self.class.load(Relaxed) == class && self.is_free.load(Relaxed) != 0
    }
}

impl Heap {
    pub fn init(&self, start: u64) {
        self.end.store(start, Relaxed);
    }
}

/// Takes a block for `bytes` bytes and returns the offset of its payload, which is zeroed. The block stays pending
/// until [`publish`]. `ENOMEM` if the arena or the file system is full.
pub(crate) fn allocate(arena: &Arena, me: &ParticipantRecord, bytes: u64) -> Result<u64, Errno> {
    let class = class_for(bytes);
    let heap = &arena.header().heap.0;
    let list = heap.free.get(class as usize).ok_or(Errno::ENOMEM)?;
    let recycled = list.load(Relaxed);
    // In an overwritten arena the list may lead to memory in use that is not a free block of this class. Then a fresh
    // block is taken.
    let (at, fresh) = match arena.get::<Block>(recycled) {
        Some(block) if recycled >= arena.heap_start() && block.is_free_one_of(class) => (recycled, false),
        _ => (heap.end.load(Relaxed), true),
    };
    if at < arena.heap_start() || at.checked_add(1 << class).is_none_or(|end| end > arena.heap_end()) {
        return Err(Errno::ENOMEM);
    }
    arena.reserve(at, bytes + HEAD).map_err(|_| Errno::ENOMEM)?;
    let block = arena.get::<Block>(at).ok_or(Errno::ENOMEM)?;
    let words = arena.slice::<AtomicU64>(at + HEAD, bytes.div_ceil(8) as usize).ok_or(Errno::ENOMEM)?;
    // Memory beyond the end was never written. If it is not zero, it is in use: the end was overwritten.
    if fresh && words.iter().any(|word| word.load(Relaxed) != 0) {
        return Err(Errno::ENOMEM);
    }
    me.pending.store(at, Relaxed);
    if fresh {
        block.class.store(class, Release);
        heap.end.store(at + (1 << class), Release);
    } else {
        list.store(block.next.load(Relaxed), Release);
    }
    block.is_free.store(0, Release);
    if !fresh {
        words.iter().for_each(|word| word.store(0, Relaxed));
    }
    Ok(at + HEAD)
}

/// The block is reachable or retired, so it is no longer pending.
pub(crate) fn publish(me: &ParticipantRecord) {
    me.pending.store(0, Release);
}

/// Announces that a payload is about to be unlinked and retired: its block becomes pending.
pub(crate) fn unpublish(me: &ParticipantRecord, payload: u64) {
    me.pending.store(payload.wrapping_sub(HEAD), Release);
}

/// The block that the caller has pending, or 0.
pub(crate) fn pending_block(me: &ParticipantRecord) -> u64 {
    me.pending.load(Relaxed)
}

/// Restores the value from [`pending_block`], after frees that used the word.
pub(crate) fn restore(me: &ParticipantRecord, pending: u64) {
    me.pending.store(pending, Release);
}

/// Size of a payload in bytes, by the class of its block.
pub(crate) fn size(arena: &Arena, payload: u64) -> u64 {
    let class = arena.get::<Block>(payload.wrapping_sub(HEAD)).map_or(0, |block| block.class.load(Relaxed));
    (1u64 << class.min(CLASSES as u32)).saturating_sub(HEAD)
}

/// Puts a payload's block onto its free list, unless it is marked as free already.
pub(crate) fn free(arena: &Arena, me: &ParticipantRecord, payload: u64) {
    let at = payload.wrapping_sub(HEAD);
    let Some(block) = arena.get::<Block>(at) else { return };
    let Some(list) = arena.header().heap.0.free.get(block.class.load(Relaxed) as usize) else { return };
    if block.is_free.load(Relaxed) != 0 {
        return;
    }
    me.pending.store(at, Release);
    block.next.store(list.load(Relaxed), Relaxed);
    block.is_free.store(1, Release);
    list.store(at, Release);
    me.pending.store(0, Release);
}

/// Whether a payload's block is on its free list. Asked about a block whose reclamation was interrupted by a death.
pub(crate) fn is_free(arena: &Arena, payload: u64) -> bool {
    is_on_list(arena, payload.wrapping_sub(HEAD))
}

fn is_on_list(arena: &Arena, at: u64) -> bool {
    let Some(block) = arena.get::<Block>(at) else { return true };
    let Some(list) = arena.header().heap.0.free.get(block.class.load(Relaxed) as usize) else { return true };
    let mut next = list.load(Relaxed);
    let limit = arena.bytes() >> SMALLEST_CLASS;
    for _ in 0..limit {
        match arena.get::<Block>(next) {
            _ if next == at => return true,
            Some(block) if next != 0 => next = block.next.load(Relaxed),
            _ => return false,
        }
    }
    false
}

/// Whether this header belongs to a block in use that was allocated for this many bytes.
pub(crate) fn is_head_of(block: &Block, bytes: u64) -> bool {
    block.class.load(Relaxed) == class_for(bytes) && block.is_free.load(Relaxed) == 0
}

fn class_for(bytes: u64) -> u32 {
    (bytes + HEAD).next_power_of_two().trailing_zeros().max(SMALLEST_CLASS)
}

/// What became of the block that a dead participant had pending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pending {
    /// There was none, or the block is where it was before: on its free list, or beyond the end of the heap.
    Nothing,
    /// The payload is on no free list: it is reachable, retired, or lost.
    Taken(u64),
}

/// Determines the [`Pending`] of a dead participant, and clears its word. The caller holds the registry lock.
pub(crate) fn resolve_pending(arena: &Arena, dead: &ParticipantRecord) -> Pending {
    let at = dead.pending.swap(0, Relaxed);
    if at == 0 || at >= arena.header().heap.0.end.load(Relaxed) {
        return Pending::Nothing;
    }
    if is_on_list(arena, at) {
        if let Some(block) = arena.get::<Block>(at) {
            // `is_free` may be wrong: the owner may have died between unlinking the block and clearing `is_free`, or
            // between setting it and linking the block. The list decides.
            block.is_free.store(1, Relaxed);
        }
        return Pending::Nothing;
    }
    if let Some(block) = arena.get::<Block>(at) {
        block.is_free.store(0, Relaxed);
    }
    Pending::Taken(at.wrapping_add(HEAD))
}
