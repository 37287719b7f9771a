//! The work queue: large frees, one at a time, by any thread that has time, without a lock.
//!
//! No thread is dedicated to it, because a library in another program's process starts none. Threads that use the
//! engine take one piece each, after they have released their locks.

use crate::registry::ParticipantRegistry;
use crate::{Host, ParticipantId};
use unspin_sync::atomic::{AtomicU64, Ordering};
use unspin_sys::process::Liveness;

/// Something to be freed, in the owner's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingFree {
    /// Identifies the thing.
    pub item: u64,
    /// The thing's size. One above [`LARGE`](crate::deferred::LARGE) goes through the work queue.
    pub bytes: u64,
}

/// Whether the thing may have been freed before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FreeAttempt {
    /// No thread has begun to free it.
    First,
    /// A thread was killed while it freed the thing: make sure that the thing is free. The killed thread may have
    /// completed the free, and the thing may have a new user by now. If the thing itself cannot tell its users apart,
    /// its [`item`](PendingFree::item) number should contain a version.
    Retry,
}

#[derive(Debug, Default)]
#[repr(C)]
struct Cell {
    /// A [`CellState`] word.
    state: AtomicU64,
    /// Unique id of the thing among all that were ever pushed; used by pushers only.
    ticket: AtomicU64,
    item: AtomicU64,
    bytes: AtomicU64,
}

/// The state of a cell: tag in bits 0..3, payload in bits 3..64.
///
/// | tag | payload | set by | left by |
/// |---|---|---|---|
/// | 0 Vacant | 0 | the worker that freed the thing | pusher |
/// | 1 Ready | position | pusher, before it advances the tail past the position | worker |
/// | 2 Claimed | [`ParticipantId`] | worker | the same worker; another one if that worker is dead |
///
/// A position counts once the tail is past it. The position in Ready keeps a worker with an old view of the queue from
/// taking an entry that does not count yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CellState {
    Vacant,
    Ready(u64),
    Claimed(ParticipantId),
}

impl CellState {
    fn encode(self) -> u64 {
        match self {
            CellState::Vacant => 0,
            CellState::Ready(position) => position << 3 | 1,
            CellState::Claimed(worker) => worker.word() << 3 | 2,
        }
    }

    fn decode(word: u64) -> CellState {
        match (word & 7, ParticipantId::from_word(word >> 3)) {
            (1, _) => CellState::Ready(word >> 3),
            (2, Some(worker)) => CellState::Claimed(worker),
            _ => CellState::Vacant,
        }
    }
}

/// Up to `W` large frees. All zeroes: empty. Part of a [`DeferredFrees`](crate::deferred::DeferredFrees).
#[derive(Debug)]
#[repr(C)]
pub struct WorkQueue<const W: usize> {
    /// Every position before it is done.
    head: AtomicU64,
    /// Every position before it counts.
    tail: AtomicU64,
    cells: [Cell; W],
}

impl<const W: usize> Default for WorkQueue<W> {
    fn default() -> Self {
        WorkQueue {
            head: AtomicU64::default(),
            tail: AtomicU64::default(),
            cells: core::array::from_fn(|_| Cell::default()),
        }
    }
}

impl<const W: usize> WorkQueue<W> {
    /// Whether there is nothing to do. Two loads.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // Relaxed: only a hint; `work` synchronises by itself.
        self.head.load(Ordering::Relaxed) == self.tail.load(Ordering::Relaxed)
    }

    /// Everything that is still to be freed or being freed. Other threads may add and finish things meanwhile. A caller
    /// that prevents additions misses nothing.
    pub fn iter(&self) -> impl Iterator<Item = PendingFree> + '_ {
        let (head, tail) = self.range();
        (head..tail).map(|position| self.cell(position)).filter_map(|cell| {
            // Acquire: partner is the Release of the pusher, so that the fields belong to its entry.
            let state = CellState::decode(cell.state.load(Ordering::Acquire));
            // Relaxed: ordered by the load of the state.
            let (item, bytes) = (cell.item.load(Ordering::Relaxed), cell.bytes.load(Ordering::Relaxed));
            (state != CellState::Vacant).then_some(PendingFree { item, bytes })
        })
    }

    /// Calls `free` for one thing that no other thread is freeing, if there is one. Returns whether it did.
    ///
    /// `me` is the calling thread. If it is killed within `free`, a later worker finds that out from the registry and
    /// frees the same thing again, with [`FreeAttempt::Retry`].
    pub fn work<H: Host>(
        &self,
        registry: &ParticipantRegistry<'_, H>,
        me: ParticipantId,
        free: impl FnOnce(PendingFree, FreeAttempt),
    ) -> bool {
        self.retire();
        let (head, tail) = self.range();
        for position in head..tail {
            let cell = self.cell(position);
            let Some(attempt) = cell.claim(position, registry, me) else { continue };
            // Relaxed: the Acquire of the claim ordered these loads after the push, and no thread writes them until the
            // cell is vacant.
            let garbage = PendingFree {
                item: cell.item.load(Ordering::Relaxed),
                bytes: cell.bytes.load(Ordering::Relaxed),
            };
            free(garbage, attempt);
            // Release: partner is the load in `retire`, through which a pusher gets the cell: the thing is freed and
            // the fields are read before the cell is used again.
            cell.state.store(CellState::Vacant.encode(), Ordering::Release);
            self.retire();
            return true;
        }
        false
    }

    /// Adds `garbage`; returns false if the queue is full. Adding the same `ticket` twice in a row adds it once.
    ///
    /// # Safety
    /// There is one pusher at a time, ordered after the one before. No two things have the same ticket, and none has
    /// ticket 0. A push that the pusher's death interrupted is the next push to be repeated.
    pub(crate) unsafe fn push(&self, ticket: u64, garbage: PendingFree) -> bool {
        self.retire();
        let (head, tail) = self.range();
        // Relaxed: only pushers write tickets, and they are ordered.
        if tail > 0 && self.cell(tail - 1).ticket.load(Ordering::Relaxed) == ticket {
            return true;
        }
        if tail - head >= W as u64 {
            return false;
        }
        // Vacant, or left Ready by a pusher that was killed before the position counted: no worker has it.
        let cell = self.cell(tail);
        // Relaxed: published by the next store.
        cell.ticket.store(ticket, Ordering::Relaxed);
        cell.item.store(garbage.item, Ordering::Relaxed);
        cell.bytes.store(garbage.bytes, Ordering::Relaxed);
        // Release: partner is the Acquire of the claim.
        cell.state.store(CellState::Ready(tail).encode(), Ordering::Release);
        // Release: partner is the load in `range`: a thread that sees that the position counts sees the cell ready.
        self.tail.store(tail.wrapping_add(1), Ordering::Release);
        true
    }

    /// Advances the head past positions that are done. Bounded by the number of cells, because in overwritten memory
    /// the loop might not end.
    fn retire(&self) {
        for _ in 0..=W {
            let (head, tail) = self.range();
            if head == tail {
                return;
            }
            // Acquire: partner is the store in `work`. The position counts, so the cell was ready once: vacant means
            // done.
            if self.cell(head).state.load(Ordering::Acquire) != CellState::Vacant.encode() {
                return;
            }
            // Release: partner is the load in `range`; passes the cell to a pusher. Acquire: orders this after the
            // exchanges that moved the head here. The head never takes a value twice, so a late exchange fails. Relaxed
            // on failure: the loop reads again.
            let _ =
                self.head.compare_exchange(head, head.wrapping_add(1), Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// Head, then tail, so that head <= tail. They are clamped to at most `W` apart, because the head may be stale or
    /// overwritten.
    fn range(&self) -> (u64, u64) {
        // Acquire: partner is the exchange in `retire`.
        let head = self.head.load(Ordering::Acquire);
        // Acquire: partner is the store in `push`.
        let tail = self.tail.load(Ordering::Acquire);
        (head.clamp(tail.saturating_sub(W as u64), tail), tail)
    }

    fn cell(&self, position: u64) -> &Cell {
        &self.cells[position as usize % W]
    }
}

impl Cell {
    /// Claims what was pushed at `position`, or what a dead worker left in the cell.
    fn claim<H: Host>(
        &self,
        position: u64,
        registry: &ParticipantRegistry<'_, H>,
        me: ParticipantId,
    ) -> Option<FreeAttempt> {
        // Acquire: partner is the exchange below, by a worker that had registered before. Without it this thread might
        // not see that registration, and would mistake the worker's slot for one that has been returned.
        let word = self.state.load(Ordering::Acquire);
        let attempt = match CellState::decode(word) {
            CellState::Ready(at) if at == position => FreeAttempt::First,
            CellState::Claimed(worker) if registry.rate_limited_liveness(worker) == Liveness::Dead => {
                FreeAttempt::Retry
            }
            _ => return None,
        };
        // Acquire: partner is the store of Ready in `push`; a takeover continues its release sequence. Relaxed on
        // failure: another thread has it.
        self.state
            .compare_exchange(word, CellState::Claimed(me).encode(), Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
            .then_some(attempt)
    }
}
