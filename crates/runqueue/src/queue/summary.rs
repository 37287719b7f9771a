//! What a queue publishes of its tasks. It is written under the queue's lock and read without.

use crate::ordered::{Load, Store};
use crate::queue::Padded;
use crate::ready::ReadyList;
use crate::schedule::{Goodness, Schedulable};
use unspin_sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// A goodness that only real-time tasks and tasks of nice -5 and less can have. Where all tasks are ordinary, no worker
/// has to compare its tasks with those of others.
const ELEVATED: u32 = encode(Some(Goodness::from_value(37)));

/// The published state of one queue: its best task, its length, its epoch.
#[derive(Debug)]
pub(crate) struct Summary {
    /// One more than the goodness of the best task, without the affinity bonus; 0: the queue is empty. On a line of its
    /// own: idle workers read it in a loop, and it changes less often than the queue.
    best: Padded<AtomicU32>,
    /// Number of tasks.
    len: AtomicUsize,
    /// Number of recalculations.
    epoch: AtomicU32,
}

/// How a publication changed whether the queue's best task is [`ELEVATED`].
#[must_use]
#[derive(Clone, Copy)]
pub(crate) enum Elevation {
    Same,
    Began,
    Ended,
}

/// The word for a goodness: greater for a better one, 0 for none.
pub(crate) const fn encode(best: Option<Goodness>) -> u32 {
    match best {
        None => 0,
        Some(goodness) => goodness.value() as u32 + 1,
    }
}

/// The goodness for a word.
fn decode(word: u32) -> Option<Goodness> {
    word.checked_sub(1).map(|value| Goodness::from_value(value as u16))
}

impl Summary {
    pub fn new() -> Summary {
        Summary { best: Padded(AtomicU32::new(0)), len: AtomicUsize::new(0), epoch: AtomicU32::new(0) }
    }

    /// Publishes what the list contains. The caller holds the queue's lock.
    #[inline(always)]
    pub fn publish<T: Schedulable>(&self, list: &ReadyList<T>) -> Elevation {
        // Relaxed (both): written under the lock, and readers take them as they are.
        self.len.store(list.len(), Ordering::Relaxed);
        if self.epoch.load(Ordering::Relaxed) != list.epoch() {
            self.epoch.store(list.epoch(), Ordering::Relaxed);
        }
        let best = encode(list.best());
        // Relaxed: only holders of the lock write it.
        let before = self.best.load(Ordering::Relaxed);
        if best == before { Elevation::Same } else { self.replace(before, best) }
    }

    #[inline(always)]
    fn replace(&self, before: u32, best: u32) -> Elevation {
        if before == 0 {
            // Sequentially consistent: partner of the loads in `is_empty`. A worker that goes idle sets its idle bit and
            // then loads this word; the thread that has pushed stores this word and then loads the bits. One of the two
            // sees the other's store.
            self.best.store_seq_cst(best);
        } else {
            // Relaxed: a hint. A worker that acts on it takes the lock.
            self.best.store(best, Ordering::Relaxed);
        }
        match (before >= ELEVATED, best >= ELEVATED) {
            (false, true) => Elevation::Began,
            (true, false) => Elevation::Ended,
            _ => Elevation::Same,
        }
    }

    /// The word of the best task: see [`encode`].
    #[inline(always)]
    pub fn best_word(&self) -> u32 {
        // Relaxed: a hint.
        self.best.load(Ordering::Relaxed)
    }

    /// The goodness of the best task.
    #[inline(always)]
    pub fn best(&self) -> Option<Goodness> {
        decode(self.best_word())
    }

    /// Whether the queue has no task; see [`RunQueue::is_empty`](crate::queue::RunQueue::is_empty).
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.best.load_seq_cst() == 0
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        // Relaxed: a number.
        self.len.load(Ordering::Relaxed)
    }

    /// Number of recalculations.
    #[inline(always)]
    pub fn epoch(&self) -> u32 {
        // Relaxed: a number. A task that comes back sees at least the epoch at which it left, because the worker that
        // took it has published that one, and the task was handed over since.
        self.epoch.load(Ordering::Relaxed)
    }
}
