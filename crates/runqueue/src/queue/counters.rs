//! What a worker counts. Only the worker writes its counters; any thread reads them.

use unspin_sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The counters of one worker.
#[derive(Debug)]
pub(crate) struct Counters {
    /// Times that the worker took tasks from another one's queue.
    pub steals: Counter,
    /// Tasks that it took there.
    pub stolen: Counter,
    /// Locks of other queues that it did not get.
    pub missed: Counter,
    /// Times that it looked again because it had found no task, and had missed a lock.
    pub premature_idles: Counter,
    /// When it last took a batch of tasks from another one's queue, in ticks, and how many these were.
    pub stole_at: Counter,
    pub stolen_last: Counter,
    /// Times that it popped.
    pub pops: Counter,
    /// The queue that it watches, and that queue's pops when it last looked: see `PerCpu::relieve`.
    pub watched: Counter,
    pub watched_pops: Counter,
}

/// A number with one writer.
#[derive(Debug)]
pub(crate) struct Counter(AtomicU64);

impl Counters {
    pub fn new() -> Counters {
        let zero = || Counter(AtomicU64::new(0));
        Counters {
            steals: zero(),
            stolen: zero(),
            missed: zero(),
            premature_idles: zero(),
            stole_at: zero(),
            stolen_last: zero(),
            pops: zero(),
            watched: zero(),
            watched_pops: zero(),
        }
    }
}

impl Counter {
    /// Adds. Only the writer calls this.
    #[inline(always)]
    pub fn add(&self, n: u64) {
        // Relaxed (both): one writer, and readers take it as it is.
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// Replaces the number. Only the writer calls this.
    pub fn set(&self, n: u64) {
        // Relaxed: as above.
        self.0.store(n, Relaxed);
    }

    pub fn get(&self) -> u64 {
        // Relaxed: a number.
        self.0.load(Relaxed)
    }
}
