//! The slabs of a queue, and the state that is derived from their cells.

use super::cell::{CellSize, Slab};
use super::queue::{Chain, MsgQueue};
use super::section::QueueSection;
use crate::participant::ParticipantRecord;
use crate::store::Arena;
use crate::store::heap;
use crate::store::list::List;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use unspin_sys::Errno;

/// Size in bytes of the heap block for a queue's first slab. Small, because many queues hold few messages.
const FIRST_BLOCK: u64 = 4096;
/// Size in bytes of the heap blocks for its other slabs.
const BLOCK: u64 = 16_384;

impl MsgQueue {
    /// Makes a slab of cells of this size, which is not in the queue yet; `None` if there are free cells of the size by
    /// now. Allocation may make system calls, so the caller does not hold the queue's lock. It holds the registry lock,
    /// so no other thread makes a slab for the queue meanwhile. `record` is the caller's.
    pub(super) fn new_slab(
        &self,
        arena: &Arena,
        record: &ParticipantRecord,
        size: CellSize,
    ) -> Result<Option<u64>, Errno> {
        // Relaxed (in `is_empty`): a hint. Cells that become free now only make the slab superfluous.
        if !self.contended.free[size.index()].is_empty() {
            return Ok(None);
        }
        // Relaxed: a hint. A queue may also adopt a mailbox meanwhile, under its own lock alone.
        let is_first = self.contended.slabs.load(Relaxed) == 0;
        let count = size.cells_in(if is_first { FIRST_BLOCK } else { BLOCK });
        let at = heap::allocate(arena, record, size.slab_bytes(count))?;
        Slab::init(arena, at, size, count);
        Ok(Some(at))
    }
}

impl QueueSection {
    /// Offsets of all slabs.
    pub(super) fn slabs(&self) -> impl Iterator<Item = u64> + use<> {
        slabs_of(self.arena(), self.queue())
    }

    /// Gives the queue the slab that [`MsgQueue::new_slab`] made for it. The caller has held the registry lock since.
    pub fn adopt_slab(&self, at: u64) {
        let (contended, arena) = (self.contended(), self.arena());
        if let Some(slab) = arena.get::<Slab>(at) {
            slab.next.store(contended.slabs.load(Relaxed), Relaxed);
        }
        // Release: the slab is complete before it belongs to the queue.
        contended.slabs.store(at, Release);
        heap::publish(self.own_record());
        Slab::cells(arena, at).for_each(|(at, cell)| self.release(at, cell));
    }

    /// Builds everything that is derived from the cells and from the participants' records anew.
    pub(super) fn rebuild(&self) {
        let (contended, arena) = (self.contended(), self.arena());
        let (mut bytes, mut count, mut last) = (0, 0, contended.serial.load(Relaxed));
        contended.messages.clear();
        contended.free.iter().for_each(Chain::clear);
        let cells = self.slabs().flat_map(|slab| Slab::cells(arena, slab));
        for (at, cell) in cells.take(Chain::most(arena)) {
            // Acquire: partner of the Release stores that send and receive messages.
            match cell.serial.load(Acquire) {
                0 => self.release(at, cell),
                serial => {
                    contended.messages.push_back(arena, at, cell);
                    (bytes, count, last) = (bytes + cell.size() as u64, count + 1, last.max(serial));
                }
            }
        }
        contended.messages.sort(arena);
        contended.bytes.store(bytes, Relaxed);
        contended.count.store(count, Relaxed);
        contended.serial.store(last, Relaxed);
        [&contended.receivers, &contended.senders].into_iter().for_each(List::clear);
        for (participant, index) in self.participants().iter().zip(0u32..) {
            if self.waits_here(participant) {
                self.list(participant.queue()).insert(self.participants(), index);
                let ticket = participant.waiter.ticket.load(Relaxed);
                contended.ticket.store(ticket.max(contended.ticket.load(Relaxed)), Relaxed);
            }
        }
    }
}

/// Most slabs that fit into the arena: bounds walks whatever memory contains.
pub(super) fn most(arena: &Arena) -> u64 {
    arena.bytes() / heap::SMALLEST
}

/// Offsets of all slabs of a queue. The caller holds its lock.
pub(super) fn slabs_of(arena: &'static Arena, queue: &'static MsgQueue) -> impl Iterator<Item = u64> + use<> {
    let mut next = queue.contended.slabs.load(Relaxed);
    (0..most(arena)).map_while(move |_| {
        let slab = (next != 0).then(|| arena.get::<Slab>(next)).flatten()?;
        Some(core::mem::replace(&mut next, slab.next.load(Relaxed)))
    })
}
