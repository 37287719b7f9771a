//! The worker's side of a run queue: what only the worker itself does.

use crate::queue::{Requeue, RunQueue};
use crate::schedule::{Schedulable, WorkerId};
use core::fmt;
use unspin_sync::machine::{AtomicBool, Ordering};

/// A worker's side of a run queue. There is at most one at a time for each worker of a queue, so a counter that the
/// worker alone writes has one writer. (A push has no `Local`; [`Origin`](crate::queue::Origin) says why.) Dropping it
/// lets another thread become the worker.
///
/// ```
/// use unspin_runqueue::queue::{Local, RunQueue};
/// use unspin_runqueue::schedule::Schedulable;
///
/// fn run<T: Schedulable>(worker: &mut Local<'_, T>, run: impl Fn(T)) {
///     while let Some(task) = worker.pop() {
///         run(task);
///     }
/// }
/// ```
pub struct Local<'q, T: Schedulable> {
    queue: &'q (dyn RunQueue<T> + 'q),
    claim: WorkerClaim,
}

/// The proof that the calling thread is a worker of the queue. Only a [`Local`] has one, of its own queue, and it
/// passes it on to the queue's methods by `&mut`.
#[derive(Debug)]
pub struct WorkerClaim(WorkerId);

/// Which workers of a queue have a [`Local`].
#[derive(Debug)]
pub struct Claims(Box<[AtomicBool]>);

impl<'q, T: Schedulable> dyn RunQueue<T> + 'q {
    /// The side of a worker.
    ///
    /// # Panics
    /// If the worker's side is in use.
    pub fn local(&self, worker: WorkerId) -> Local<'_, T> {
        // Acquire: pairs with the Release store in `drop`: the previous thread has finished writing the worker's
        // counters.
        let is_in_use = self.claims().0[worker.index()].swap(true, Ordering::Acquire);
        assert!(!is_in_use, "{worker} is in use by another thread");
        Local { queue: self, claim: WorkerClaim(worker) }
    }
}

impl<T: Schedulable> Local<'_, T> {
    /// The worker.
    #[inline(always)]
    pub fn id(&self) -> WorkerId {
        self.claim.0
    }

    /// Takes the best task for the worker. None if there is none, or if other threads hold the locks of all queues that
    /// have one.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        self.queue.pop(&mut self.claim)
    }

    /// Adds a task that the worker has just run, and takes the best one, which may be the same.
    #[inline(always)]
    pub fn requeue(&mut self, task: T, how: Requeue) -> T {
        self.queue.requeue(task, &mut self.claim, how)
    }
}

impl<T: Schedulable> Drop for Local<'_, T> {
    fn drop(&mut self) {
        // Release: partner of the swap in `local`.
        self.queue.claims().0[self.claim.0.index()].store(false, Ordering::Release);
    }
}

impl<T: Schedulable> fmt::Debug for Local<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Local").field(&self.claim.0).finish()
    }
}

impl WorkerClaim {
    /// The worker.
    #[inline(always)]
    pub fn id(&self) -> WorkerId {
        self.0
    }
}

impl Claims {
    /// None of the workers has a [`Local`].
    pub(crate) fn new(workers: usize) -> Claims {
        Claims((0..workers).map(|_| AtomicBool::new(false)).collect())
    }
}
