//! A worker as it sees itself.

use crate::schedule::WorkerId;
use core::cell::Cell;
use unspin_waiting::SiteHistory;

/// A thread that runs tasks. It belongs to that thread.
#[derive(Debug)]
pub struct Worker {
    id: WorkerId,
    /// Whether it is counted as a searcher.
    searches: Cell<bool>,
    /// Whether waiting without sleep has paid.
    history: SiteHistory,
}

impl Worker {
    /// The worker with this number. A pool has one of each.
    pub fn new(id: WorkerId) -> Worker {
        Worker { id, searches: Cell::new(false), history: SiteHistory::default() }
    }

    /// Its number.
    #[inline(always)]
    pub fn id(&self) -> WorkerId {
        self.id
    }

    /// What it has learnt about waiting for tasks.
    pub fn history(&self) -> &SiteHistory {
        &self.history
    }

    #[inline(always)]
    pub(crate) fn searches(&self) -> bool {
        self.searches.get()
    }

    pub(crate) fn set_searches(&self, searches: bool) {
        self.searches.set(searches);
    }

    /// The time in ticks. Models order idle workers by number only.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn now(&self) -> u64 {
        unspin_sys::clock::ticks()
    }

    #[cfg(any(loom, shuttle))]
    pub(crate) fn now(&self) -> u64 {
        0
    }
}
