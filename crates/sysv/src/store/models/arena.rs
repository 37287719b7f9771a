//! Replaces the arena in models: typed values at offsets that a model chooses, because loom's atomics have neither the
//! size nor the bytes of the machine's. Reading a value and freeing it are accesses to a loom cell, so loom reports
//! when nothing orders them.

use crate::class::Class;
use crate::participant::ParticipantRecord;
use crate::registry::{Keys, Perm, Root, Table};
use crate::sem::UndoHeader;
use core::any::Any;
use loom::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::sync::Mutex;
use unspin_sync::atomic::{AtomicU16, AtomicU64, Ordering};
use unspin_sys::Errno;

/// Types that may be stored in an arena.
///
/// # Safety
/// No obligations here. It is unsafe because the real trait is, so that the protocols need not differ.
pub(crate) unsafe trait Shared: Any + Default + Send + Sync {}

// SAFETY: see `Shared`.
unsafe impl Shared for AtomicU64 {}
// SAFETY: see `Shared`.
unsafe impl Shared for Perm {}
// SAFETY: see `Shared`.
unsafe impl Shared for UndoHeader {}
// SAFETY: see `Shared`.
unsafe impl Shared for AtomicU16 {}

/// The type that puts a value on cache lines of its own in the real arena.
#[derive(Debug, Default)]
pub(crate) struct Apart<T>(pub T);

/// The fields of the first page that the registry uses.
#[derive(Debug, Default)]
pub(crate) struct Header {
    /// As in the real header.
    pub changes: Apart<AtomicU64>,
    /// As in the real header.
    pub roots: [Apart<Root>; 3],
}

impl Header {
    /// As in the real header.
    pub fn root(&self, class: Class) -> &Root {
        &self.roots[class as usize].0
    }
}

/// A block of the heap.
struct Block {
    at: u64,
    bytes: u64,
    things: BTreeMap<u64, Box<dyn Any + Send + Sync>>,
    /// Read by readers; written by the thread that frees the block.
    life: UnsafeCell<u64>,
}

/// An arena with blocks of known contents, some of which are not allocated yet.
pub(crate) struct Arena {
    header: Header,
    blocks: Vec<Block>,
    allocated: Mutex<Vec<u64>>,
    participants: [ParticipantRecord; 1],
    steps: AtomicU64,
}

// SAFETY: the only members that are not Sync are the cells, and loom checks all accesses to them.
unsafe impl Sync for Arena {}
// SAFETY: nothing in it belongs to a particular thread.
unsafe impl Send for Arena {}

/// Distance between the offsets of blocks.
const STRIDE: u64 = 1 << 16;

impl Arena {
    /// An arena without blocks.
    pub fn new() -> Arena {
        Arena {
            header: Header::default(),
            blocks: Vec::new(),
            allocated: Mutex::default(),
            participants: Default::default(),
            steps: AtomicU64::default(),
        }
    }

    /// Adds room for a table.
    pub fn with_table(self, capacity: u32) -> Arena {
        self.with_block(Table::bytes(capacity), Box::new(Table::default()), size_of::<Table>(), capacity)
    }

    /// Adds room for a map of keys.
    pub fn with_keys(self, capacity: u32) -> Arena {
        self.with_block(Keys::bytes(capacity), Box::new(Keys::default()), size_of::<Keys>(), capacity)
    }

    /// Adds an object; it counts as allocated.
    pub fn with_object(self) -> (Arena, u64) {
        let arena = self.with_block(0, Box::new(Perm::default()), 0, 0);
        let at = arena.blocks.last().map_or(0, |block| block.at);
        (arena, at)
    }

    /// Adds a record of adjustments for `nsems` semaphores; it counts as allocated.
    pub fn with_undo(mut self, nsems: usize) -> (Arena, u64) {
        self = self.with_block(0, Box::new(UndoHeader::default()), 0, 0);
        let block = self.blocks.last_mut().expect("added just now");
        let adjustments: Vec<AtomicU16> = (0..nsems).map(|_| AtomicU16::default()).collect();
        block.things.insert(block.at + size_of::<UndoHeader>() as u64, Box::new(adjustments));
        let at = block.at;
        (self, at)
    }

    fn with_block(
        mut self,
        bytes: u64,
        head: Box<dyn Any + Send + Sync>,
        size: usize,
        entries: u32,
    ) -> Arena {
        let at = (self.blocks.len() as u64 + 1) * STRIDE;
        let mut things = BTreeMap::from([(at, head)]);
        for i in 0..entries as u64 {
            things.insert(at + size as u64 + i * 8, Box::new(AtomicU64::default()));
        }
        self.blocks.push(Block { at, bytes, things, life: UnsafeCell::new(1) });
        self
    }

    /// The value at `offset`.
    pub fn get<T: Shared>(&self, offset: u64) -> Option<&T> {
        let block = self.block(offset)?;
        // Relaxed: a point where loom may switch threads; see `step` in the models of a set.
        self.steps.fetch_add(1, Ordering::Relaxed);
        // SAFETY: loom checks that no thread frees the block meanwhile.
        block.life.with(|life| assert_eq!(unsafe { *life }, 1, "read after free"));
        block.things.get(&offset)?.downcast_ref()
    }

    /// The values at `offset`, which were stored there as one vector.
    pub fn slice<T: Shared>(&self, offset: u64, _: usize) -> Option<&[T]> {
        self.block(offset)?.things.get(&offset)?.downcast_ref::<Vec<T>>().map(Vec::as_slice)
    }

    fn block(&self, offset: u64) -> Option<&Block> {
        self.blocks.get((offset / STRIDE).checked_sub(1)? as usize)
    }

    /// The first page.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// As in the real arena; there is one participant.
    pub fn participants(&self, _: usize) -> &[ParticipantRecord] {
        &self.participants
    }

    /// As in the real arena.
    pub fn reserve_participant(&self, _: usize) -> Result<(), Errno> {
        Ok(())
    }

    /// As in the real arena.
    pub fn note_change(&self) {
        // Release: as in the real arena.
        self.header.changes.0.fetch_add(1, Ordering::Release);
    }

    /// A block of this size that is not allocated yet.
    pub fn allocate(&self, bytes: u64) -> Option<u64> {
        let mut allocated = self.allocated.lock().unwrap();
        let block = self.blocks.iter().find(|b| b.bytes == bytes && !allocated.contains(&b.at))?;
        allocated.push(block.at);
        Some(block.at)
    }

    /// Frees a block: no thread may access it any more.
    pub fn free(&self, offset: u64) {
        if let Some(block) = self.block(offset) {
            // Relaxed: as in `get`.
            self.steps.fetch_add(1, Ordering::Relaxed);
            // SAFETY: loom checks that no thread accesses the block meanwhile.
            block.life.with_mut(|life| unsafe { *life = 0 });
        }
    }
}
