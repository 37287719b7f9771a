//! Which workers are idle, since when, and how many search.

use crate::ordered::{self, Load};
use crate::queue::Padded;
use crate::schedule::WorkerId;
use unspin_sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The idle workers of a pool.
#[derive(Debug)]
pub(crate) struct IdleSet {
    /// A bit for each worker. Set by the worker when it goes idle. Cleared by the thread that wakes it (which so
    /// *claims* it), or by the worker itself.
    words: Box<[Padded<AtomicU64>]>,
    /// By worker: when it went idle.
    since: Box<[AtomicU64]>,
    /// Number of workers that are awake and look for a task. While there is one no other is woken: it will find the
    /// task, and then wake the next.
    searching: Padded<AtomicUsize>,
}

const WORD: usize = u64::BITS as usize;

impl IdleSet {
    pub fn new(workers: usize) -> IdleSet {
        IdleSet {
            words: (0..workers.div_ceil(WORD)).map(|_| Padded(AtomicU64::new(0))).collect(),
            since: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            searching: Padded(AtomicUsize::new(0)),
        }
    }

    fn word(&self, worker: WorkerId) -> (&AtomicU64, u64) {
        (&self.words[worker.index() / WORD], 1 << (worker.index() % WORD))
    }

    /// The worker is idle from `now` on. It then checks once more whether there is a task, and whether it has to stop.
    pub fn enter(&self, worker: WorkerId, now: u64) {
        // Relaxed: published by the next operation.
        self.since[worker.index()].store(now, Ordering::Relaxed);
        let (word, bit) = self.word(worker);
        // Sequentially consistent: see `RunQueue::is_empty`.
        ordered::set_bits(word, bit);
    }

    /// Clears the worker's bit. True: this call has cleared it. False: the worker was not idle, or another thread has
    /// claimed it and is about to unpark it.
    pub fn leave(&self, worker: WorkerId) -> bool {
        let (word, bit) = self.word(worker);
        // AcqRel: the thread that clears the bit sees the time stored before the bit was set.
        word.fetch_and(!bit, Ordering::AcqRel) & bit != 0
    }

    /// Whether a worker is idle, maybe.
    #[inline(always)]
    pub fn is_any(&self) -> bool {
        // Sequentially consistent: see `RunQueue::is_empty`.
        self.words.iter().any(|word| word.load_seq_cst() != 0)
    }

    /// Claims this worker if it is idle, else the one that has been idle longest. The caller unparks it.
    #[cold]
    pub fn claim(&self, preferred: Option<WorkerId>) -> Option<WorkerId> {
        if let Some(preferred) = preferred
            && self.is_idle(preferred)
            && self.leave(preferred)
        {
            return Some(preferred);
        }
        self.claim_except(None)
    }

    /// Claims the worker that has been idle longest, but not `except`. The caller unparks it.
    pub fn claim_except(&self, except: Option<WorkerId>) -> Option<WorkerId> {
        loop {
            // Ends: each round that fails follows a claim by another thread, or a worker that left.
            let longest = self.longest_idle_except(except)?;
            if self.leave(longest) {
                return Some(longest);
            }
        }
    }

    /// Whether this worker is idle, maybe.
    pub fn is_idle(&self, worker: WorkerId) -> bool {
        let (word, bit) = self.word(worker);
        // Relaxed: a hint. For a claim `leave` decides; a task that is placed by it is found in any queue.
        word.load(Ordering::Relaxed) & bit != 0
    }

    /// The worker that has been idle longest, but not `except`.
    fn longest_idle_except(&self, except: Option<WorkerId>) -> Option<WorkerId> {
        let idle = self.words.iter().enumerate().flat_map(|(at, word)| {
            // Sequentially consistent: as in `is_any`.
            Bits(word.load_seq_cst()).map(move |bit| at * WORD + bit)
        });
        let idle = idle.filter(|&worker| except.is_none_or(|except| except.index() != worker));
        // Relaxed: a worker that goes idle at this moment may be given an older time.
        idle.min_by_key(|&worker| self.since[worker].load(Ordering::Relaxed)).map(WorkerId::new)
    }

    /// Whether a worker searches.
    #[inline(always)]
    pub fn is_any_searching(&self) -> bool {
        // Sequentially consistent: partner of `end_search`: a thread that pushes and then sees a searcher here relies on
        // that searcher's last look at the queues.
        self.searching.load_seq_cst() > 0
    }

    /// Counts one more searcher: the caller itself, or the worker that it has claimed.
    pub fn begin_search(&self) {
        ordered::increment(&self.searching);
    }

    /// Counts one searcher less. True: it was the only one. A searcher that has found no task has its idle bit set
    /// before this call, and looks at the queues after it.
    pub fn end_search(&self) -> bool {
        // Sequentially consistent: see `is_any_searching`.
        ordered::decrement(&self.searching) == 1
    }
}

/// The numbers of the bits that are set.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (bit < u64::BITS).then_some(bit as usize)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn preferred_worker_is_claimed_first_then_the_longest_idle() {
        let set = IdleSet::new(200);
        assert!(!set.is_any());
        for (worker, now) in [(3, 30), (70, 10), (199, 20)] {
            set.enter(WorkerId::new(worker), now);
        }
        let claimed = [Some(3), Some(3), None, None, None]
            .map(|preferred: Option<usize>| set.claim(preferred.map(WorkerId::new)));
        assert_eq!(
            claimed.map(|worker| worker.map(WorkerId::index)),
            [Some(3), Some(70), Some(199), None, None]
        );
        assert!(!set.leave(WorkerId::new(3)) && !set.is_any());
    }
}
