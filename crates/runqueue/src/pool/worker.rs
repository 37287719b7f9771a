//! A worker: takes tasks, searches for them, and sleeps while there are none.

use crate::pool::{Pool, Sleeper, Slept};
use crate::queue::{Local, Requeue};
use crate::schedule::{Schedulable, WorkerId};
use core::fmt;
use unspin_sync::thread;
use unspin_waiting::SiteHistory;

/// A thread that runs the tasks of a pool. [`Pool::worker`] makes it.
pub struct Worker<'p, T: Schedulable, S> {
    pool: &'p Pool<T, S>,
    queue: Local<'p, T>,
    /// Whether the pool counts it as a searcher.
    searches: bool,
    /// Whether waiting without sleep has paid.
    history: SiteHistory,
}

impl<'p, T: Schedulable, S: Sleeper> Worker<'p, T, S> {
    pub(super) fn new(pool: &'p Pool<T, S>, id: WorkerId) -> Worker<'p, T, S> {
        Worker { pool, queue: pool.queue.local(id), searches: false, history: SiteHistory::default() }
    }

    /// The number of the worker.
    #[inline(always)]
    pub fn id(&self) -> WorkerId {
        self.queue.id()
    }

    /// Adds a task that the worker has just run, and takes the best one, which may be the same.
    #[inline]
    pub fn requeue(&mut self, task: T, how: Requeue) -> T {
        self.queue.requeue(task, how)
    }

    /// The next task. Sleeps while there is none. None: the pool has been stopped.
    #[inline]
    pub fn next_task(&mut self) -> Option<T> {
        if self.pool.is_stopped() {
            return self.stop();
        }
        match self.queue.pop() {
            Some(task) if !self.searches => Some(task),
            Some(task) => Some(self.end_search(task)),
            None => self.wait(),
        }
    }

    /// Ends the search with a task.
    fn end_search(&mut self, task: T) -> T {
        self.searches = false;
        if self.pool.idle.end_search() && !self.pool.queue.is_empty() {
            self.pool.notify();
        }
        task
    }

    #[cold]
    fn wait(&mut self) -> Option<T> {
        loop {
            if self.pool.is_stopped() {
                return self.stop();
            }
            self.search();
            if let Some(task) = self.queue.pop() {
                return Some(if self.searches { self.end_search(task) } else { task });
            }
            self.idle();
            if let Some(task) = self.queue.pop() {
                return Some(if self.searches { self.end_search(task) } else { task });
            }
            if !self.pool.queue.is_empty() {
                // The locks of all queues with tasks are taken. Their holders may need this CPU.
                thread::yield_now();
            }
        }
    }

    /// Lingers until there is a task, if no other worker does.
    fn search(&mut self) {
        let pool = self.pool;
        if !self.searches {
            if pool.idle.is_any_searching() {
                return;
            }
            pool.idle.begin_search();
            self.searches = true;
        }
        pool.sleeper.linger(&self.history, &mut || pool.is_stopped() || !pool.queue.is_empty());
    }

    /// Goes idle, and sleeps if there is still no task.
    fn idle(&mut self) {
        let (pool, id) = (self.pool, self.id());
        pool.idle.enter(id, now());
        if self.searches {
            self.searches = false;
            pool.idle.end_search();
        }
        let parker = &pool.parkers[id.index()];
        // The look that the protocol asks for: after the idle bit was set.
        let slept = if pool.queue.is_empty() && !pool.is_stopped() {
            pool.sleeper.sleep(&self.history, parker)
        } else {
            Slept::Early
        };
        match slept {
            // The thread that has claimed this worker has counted it as a searcher.
            Slept::Unparked => {}
            Slept::Early if pool.idle.leave(id) => pool.idle.begin_search(),
            Slept::Early => parker.park(),
        }
        self.searches = true;
    }

    /// Ends the worker's part in the pool.
    fn stop(&mut self) -> Option<T> {
        if self.searches {
            self.searches = false;
            self.pool.idle.end_search();
        }
        None
    }
}

impl<T: Schedulable, S> fmt::Debug for Worker<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Worker { queue, searches, .. } = self;
        f.debug_struct("Worker").field("queue", queue).field("searches", searches).finish_non_exhaustive()
    }
}

/// The time in ticks. Models order idle workers by number only.
#[cfg(not(any(loom, shuttle)))]
fn now() -> u64 {
    unspin_sys::clock::ticks()
}

#[cfg(any(loom, shuttle))]
fn now() -> u64 {
    0
}
