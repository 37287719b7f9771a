//! How many tasks and blocking closures an executor has.

use crate::queue::Padded;
use unspin_sync::atomic::{AtomicU64, Ordering};

/// Tasks that were started and that have ended, counted by part, so that no two workers write one word.
#[derive(Debug)]
pub(crate) struct TaskCounts {
    /// One for each worker, and some for other threads.
    parts: Box<[Padded<Part>]>,
    workers: usize,
}

#[derive(Debug, Default)]
struct Part {
    started: AtomicU64,
    ended: AtomicU64,
}

/// Parts that all other threads share.
const OUTSIDE: usize = 8;

impl TaskCounts {
    pub fn new(workers: usize) -> TaskCounts {
        TaskCounts { parts: (0..workers + OUTSIDE).map(|_| Padded::default()).collect(), workers }
    }

    fn outside(&self) -> &Part {
        &self.parts[self.workers + crate::pool::thread_number() % OUTSIDE]
    }

    /// A task is started, by this worker or by another thread.
    #[inline(always)]
    pub fn start(&self, worker: Option<usize>) {
        match worker {
            Some(worker) => add_alone(&self.parts[worker].started),
            // Relaxed: the push of the task publishes it.
            None => _ = self.outside().started.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// A task ends, in this worker or in another thread.
    #[inline(always)]
    pub fn end(&self, worker: Option<usize>) {
        match worker {
            Some(worker) => add_alone(&self.parts[worker].ended),
            // Release: as in `add_alone`.
            None => _ = self.outside().ended.fetch_add(1, Ordering::Release),
        }
    }

    /// Number of tasks that have not ended. It may be too large while tasks start and end, but it is at least the number
    /// at some moment of the call. So if it is 0, there was a moment without tasks.
    pub fn alive(&self) -> u64 {
        TaskCounts::alive_in(&[self])
    }

    /// The sum of several counts, with the same guarantees, although tasks of one count start tasks of another one.
    pub fn alive_in(counts: &[&TaskCounts]) -> u64 {
        // All ends are read before any start. So if the end of a task is counted, its start is counted too, and so are
        // the starts of the tasks that it has started.
        let ended: u64 = counts.iter().map(|counts| counts.ends()).sum();
        let started: u64 = counts.iter().map(|counts| counts.starts()).sum();
        started - ended
    }

    fn ends(&self) -> u64 {
        // Acquire: partner of the Release of the tasks' ends.
        self.parts.iter().map(|part| part.ended.load(Ordering::Acquire)).sum()
    }

    fn starts(&self) -> u64 {
        // Relaxed: the ends that were read before show the starts that they follow.
        self.parts.iter().map(|part| part.started.load(Ordering::Relaxed)).sum()
    }
}

/// Adds one to a word that only the calling thread writes.
#[inline(always)]
fn add_alone(word: &AtomicU64) {
    // Relaxed (the load): one writer. Release: partner of the Acquire in `alive`: a thread that sees a task's end sees its
    // start.
    word.store(word.load(Ordering::Relaxed) + 1, Ordering::Release);
}
