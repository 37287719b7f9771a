//! Which worker.

use core::fmt;

/// A worker of an executor, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WorkerId(pub(super) u16);

impl WorkerId {
    /// The number of workers that a run queue can have.
    pub const MAX: usize = 1024;

    /// The worker with this number.
    ///
    /// # Panics
    /// If the number is not below [`WorkerId::MAX`].
    pub const fn new(number: usize) -> WorkerId {
        assert!(number < WorkerId::MAX, "a run queue has at most 1024 workers");
        WorkerId(number as u16)
    }

    /// The number of the worker, from 0.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {}", self.0)
    }
}
