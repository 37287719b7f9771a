//! What an executor's handles, workers and tasks share.

use crate::executor::blocking::BlockingPool;
use crate::executor::context::Context;
use crate::executor::counts::TaskCounts;
use crate::executor::idling::Idling;
use crate::lock::Operation;
use crate::ordered::{Load, Store};
use crate::pool::Pool;
use crate::queue::Origin;
use crate::schedule::{Nice, Priority, Schedule};
use crate::task::{self, JoinHandle, Listed, Owner, Runnable, SuspendedTasks};
use core::ptr::NonNull;
use core::time::Duration;
use std::sync::Arc;
use unspin_sync::atomic::AtomicBool;
use unspin_sys::sched;

/// Time between two looks for tasks that other threads are about to end.
const INTERVAL: Duration = Duration::from_micros(50);

/// The state of an executor.
pub(crate) struct Shared {
    pub pool: Pool<Runnable, Idling>,
    pub suspended: SuspendedTasks,
    pub counts: TaskCounts,
    pub blocking: Arc<BlockingPool>,
    /// Whether tasks may be started. Cleared once.
    accepts: AtomicBool,
}

/// An executor as its tasks know it.
///
/// A task counts no reference of its executor: all workers would write that one word for each task. The pointer is valid
/// as long as the task is not completed, because an executor ends only after all its tasks: see
/// [`Shared::end_all_tasks`].
pub(crate) struct TaskOwner(NonNull<Shared>);

// SAFETY: a pointer to a value that is `Sync`.
unsafe impl Send for TaskOwner {}
// SAFETY: as above.
unsafe impl Sync for TaskOwner {}

impl TaskOwner {
    fn shared(&self) -> &Shared {
        // SAFETY: called for tasks that are not completed: see the type.
        unsafe { self.0.as_ref() }
    }

    /// Calls `f` with the calling thread's context if it is a worker of this executor.
    #[inline(always)]
    fn with_context<R>(&self, f: impl FnOnce(Option<&Context>) -> R) -> R {
        Context::with(|context| f(context.filter(|context| Arc::as_ptr(&context.shared) == self.0.as_ptr())))
    }
}

impl Owner for TaskOwner {
    fn schedule(&self, task: Runnable) {
        let shared = self.0;
        self.with_context(|context| match context {
            Some(context) if context.in_driver.get() => {
                context.shared.pool.submit_from_driver(task, context.worker);
            }
            Some(context) => {
                context.shared.pool.submit(task, Origin::Worker(context.worker), Operation::Wake);
            }
            None => {
                // Once the task is in a queue it may be completed, and the executor may end.
                // SAFETY: the pointer came from an `Arc`, and the executor lives, because the task is not completed.
                let shared = unsafe {
                    Arc::increment_strong_count(shared.as_ptr());
                    Arc::from_raw(shared.as_ptr())
                };
                shared.pool.submit(task, Origin::Outside, Operation::Wake);
            }
        });
    }

    fn list(&self, task: Listed) -> u64 {
        let worker = self.with_context(|context| context.map_or(0, |context| context.worker.index()));
        self.shared().suspended.insert(worker, task)
    }

    #[inline]
    fn retire(&self, place: u64) -> Option<Listed> {
        let shared = self.shared();
        let listed = (place != 0).then(|| shared.suspended.remove(place)).flatten();
        // The last access: from here on the executor may end.
        self.with_context(|context| shared.counts.end(context.map(|context| context.worker.index())));
        listed
    }
}

impl Shared {
    pub fn new(pool: Pool<Runnable, Idling>) -> Shared {
        let workers = pool.queue().workers();
        Shared {
            pool,
            suspended: SuspendedTasks::new(workers),
            counts: TaskCounts::new(workers),
            blocking: BlockingPool::new(),
            accepts: AtomicBool::new(true),
        }
    }

    /// Starts a task.
    #[inline]
    pub fn spawn<F>(self: &Arc<Shared>, priority: Priority, nice: Nice, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let owner = TaskOwner(NonNull::from(&**self));
        let worker = owner.with_context(|context| context.map(|context| context.worker));
        self.counts.start(worker.map(|worker| worker.index()));
        let (runnable, handle) = task::new(future, Schedule::new(priority, nice), owner);
        let origin = worker.map_or(Origin::Outside, Origin::Worker);
        self.pool.submit(runnable, origin, Operation::Push);
        if !self.accepts.load_seq_cst() {
            self.cancel_queued_tasks();
        }
        handle
    }

    /// Number of tasks and blocking closures that have not ended.
    pub fn alive(&self) -> u64 {
        TaskCounts::alive_in(&[&self.counts, self.blocking.counts()])
    }

    /// Starts no more tasks: those that come are cancelled.
    pub fn refuse(&self) {
        self.accepts.store_seq_cst(false);
    }

    /// Cancels the tasks that are in the run queue.
    pub fn cancel_queued_tasks(&self) {
        while let Some(task) = self.pool.queue().take_any() {
            task.cancel();
        }
    }

    /// Drops the futures of all tasks, once the workers have ended and [`refuse`](Shared::refuse) was called. On return
    /// no task uses the executor any more.
    pub fn end_all_tasks(&self) {
        // Ends: a task that is neither queued nor suspended is being put into the queue by a thread, or being dropped by
        // one; both take a moment, unless a destructor of the program waits.
        while self.counts.alive() > 0 {
            self.cancel_queued_tasks();
            self.suspended.cancel_all();
            if self.counts.alive() > 0 {
                sched::sleep(INTERVAL);
            }
        }
    }
}
