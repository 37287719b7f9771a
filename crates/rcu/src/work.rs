//! The work queue: large frees, done one by one by whoever has time, under no lock.
//!
//! There is no thread that drains it: a library inside somebody else's process starts none. Threads that come
//! by take one piece each, after they have released their locks.

use crate::registry::Registry;
use crate::{Host, Participant};
use unspin_sync::atomic::{AtomicU64, Ordering};
use unspin_sys::process::Life;

/// Something to be freed, in the owner's own numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Garbage {
    /// What it is.
    pub item: u64,
    /// Its size; more than [`LARGE`](crate::deferred::LARGE) sends it through the work queue.
    pub bytes: u64,
}

/// Whether something may have been freed before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// Nobody has begun to free it.
    First,
    /// Somebody was killed while freeing it: make sure that it is free. He may have got as far as to make it
    /// available, and it may have a new user by now; so what cannot tell its users apart by itself should
    /// have a version in its [`item`](Garbage::item) number.
    Again,
}

#[derive(Debug, Default)]
#[repr(C)]
struct Cell {
    /// A [`Work`] word.
    state: AtomicU64,
    /// Name of the thing among all that were ever pushed; pushers only.
    ticket: AtomicU64,
    item: AtomicU64,
    bytes: AtomicU64,
}

/// The state of a cell: tag in bits 0..3, payload in bits 3..64.
///
/// | tag | payload | set by | left by |
/// |---|---|---|---|
/// | 0 Vacant | 0 | the worker that freed it | pusher |
/// | 1 Ready | position | pusher, before the tail that makes it count | worker |
/// | 2 Claimed | [`Participant`] | worker | the same worker; another one if that is dead |
///
/// The position in Ready keeps a worker that looked at the queue long ago from taking what does not count yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Vacant,
    Ready(u64),
    Claimed(Participant),
}

impl Work {
    fn encode(self) -> u64 {
        match self {
            Work::Vacant => 0,
            Work::Ready(position) => position << 3 | 1,
            Work::Claimed(worker) => worker.word() << 3 | 2,
        }
    }

    fn decode(word: u64) -> Work {
        match (word & 7, Participant::from_word(word >> 3)) {
            (1, _) => Work::Ready(word >> 3),
            (2, Some(worker)) => Work::Claimed(worker),
            _ => Work::Vacant,
        }
    }
}

/// Up to `W` large frees. All zeroes: empty. Part of a [`Deferred`](crate::deferred::Deferred).
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
        // Relaxed: a hint; `work` synchronises by itself.
        self.head.load(Ordering::Relaxed) == self.tail.load(Ordering::Relaxed)
    }

    /// Everything that is still to be freed or being freed. Meanwhile others may add and finish: exact for who
    /// keeps them from adding, as far as additions go.
    pub fn iter(&self) -> impl Iterator<Item = Garbage> + '_ {
        let (head, tail) = self.range();
        (head..tail).map(|position| self.cell(position)).filter_map(|cell| {
            // Acquire: partner is the release of the pusher, so that the fields are his.
            let state = Work::decode(cell.state.load(Ordering::Acquire));
            // Relaxed: ordered by the state.
            let (item, bytes) = (cell.item.load(Ordering::Relaxed), cell.bytes.load(Ordering::Relaxed));
            (state != Work::Vacant).then_some(Garbage { item, bytes })
        })
    }

    /// Calls `free` for one thing, if there is one that nobody else is freeing. Returns whether it did.
    ///
    /// `me` is the calling thread. Should it be killed within `free`, whoever works next finds that out from
    /// the registry and frees the same thing again, told so by [`Attempt::Again`].
    pub fn work<H: Host>(
        &self,
        registry: &Registry<'_, H>,
        me: Participant,
        free: impl FnOnce(Garbage, Attempt),
    ) -> bool {
        self.retire();
        let (head, tail) = self.range();
        for position in head..tail {
            let cell = self.cell(position);
            let Some(attempt) = cell.claim(position, registry, me) else { continue };
            // Relaxed: the claim's acquire ordered these after the push, and nobody writes them until the
            // cell is vacant.
            let garbage = Garbage {
                item: cell.item.load(Ordering::Relaxed),
                bytes: cell.bytes.load(Ordering::Relaxed),
            };
            free(garbage, attempt);
            // Release: partner is the load in `retire`, by way of which a pusher gets the cell: freed, and
            // its fields read, before it is used again.
            cell.state.store(Work::Vacant.encode(), Ordering::Release);
            self.retire();
            return true;
        }
        false
    }

    /// Adds `garbage`, unless the queue is full; adding the same `ticket` twice in a row adds it once.
    ///
    /// # Safety
    /// There is one pusher at a time, ordered after the one before. No two things have the same ticket, none
    /// has ticket 0. A push that was cut short by the pusher's death is the next to be repeated.
    pub(crate) unsafe fn push(&self, ticket: u64, garbage: Garbage) -> bool {
        self.retire();
        let (head, tail) = self.range();
        // Relaxed: only pushers write tickets, and they are ordered.
        if tail > 0 && self.cell(tail - 1).ticket.load(Ordering::Relaxed) == ticket {
            return true;
        }
        if tail - head >= W as u64 {
            return false;
        }
        // Vacant, or left Ready by a pusher that was killed before it counted: no worker has it.
        let cell = self.cell(tail);
        // Relaxed: published by the next store.
        cell.ticket.store(ticket, Ordering::Relaxed);
        cell.item.store(garbage.item, Ordering::Relaxed);
        cell.bytes.store(garbage.bytes, Ordering::Relaxed);
        // Release: partner is the claim.
        cell.state.store(Work::Ready(tail).encode(), Ordering::Release);
        // Release: partner is the load in `range`: whoever sees that the position counts sees it ready.
        self.tail.store(tail.wrapping_add(1), Ordering::Release);
        true
    }

    /// Moves the head past what is done. No more often than there are cells: in memory that was overwritten it would never
    /// get there.
    fn retire(&self) {
        for _ in 0..=W {
            let (head, tail) = self.range();
            if head == tail {
                return;
            }
            // Acquire: partner is the store in `work`. The position counts, so it was ready once: vacant
            // means done.
            if self.cell(head).state.load(Ordering::Acquire) != Work::Vacant.encode() {
                return;
            }
            // Release: partner is the load in `range`; hands the cell on to a pusher. The head never takes a
            // value twice, so a latecomer's exchange fails. Relaxed on failure: looked at again.
            let _ =
                self.head.compare_exchange(head, head.wrapping_add(1), Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// Head, then tail, so that head <= tail; at most as many cells apart as there are, as the head may be an old one, or
    /// have been overwritten.
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
    /// Takes what was pushed at `position`, or what a dead worker left in the cell.
    fn claim<H: Host>(&self, position: u64, registry: &Registry<'_, H>, me: Participant) -> Option<Attempt> {
        // Acquire: partner is the exchange below, made by a worker that had registered: who does not see that
        // takes its slot for one that it has given back.
        let word = self.state.load(Ordering::Acquire);
        let attempt = match Work::decode(word) {
            Work::Ready(at) if at == position => Attempt::First,
            Work::Claimed(worker) if registry.life_lately(worker) == Life::Dead => Attempt::Again,
            _ => return None,
        };
        // Acquire: partner is the store of Ready in `push`; a takeover continues its release sequence.
        // Relaxed on failure: somebody else has it.
        self.state
            .compare_exchange(word, Work::Claimed(me).encode(), Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
            .then_some(attempt)
    }
}
