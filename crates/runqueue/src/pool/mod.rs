//! Workers that take tasks from a run queue, sleep while there are none, and are woken for new ones.
//!
//! **No lost wake-up.** A worker that finds no task sets its idle bit, then looks at the summaries of all queues, then
//! sleeps. A thread that pushes to an empty queue publishes the summary, then looks at the idle bits. All four accesses
//! are sequentially consistent, so one of the two sees the other: the worker finds the task, or the thread finds the
//! worker, *claims* it (clears its bit) and unparks it. A push to a queue that is not empty needs no order: the push
//! that made the queue non-empty has seen to it that a worker is awake.
//!
//! **One searcher.** While an awake worker searches, pushes wake no other one. A searcher that finds a task, and was
//! the only one, wakes the next if there are more tasks. A searcher that finds none sets its idle bit *before* it stops
//! to count as a searcher, and looks at the queues *after* that: so a thread that relied on it is seen.
//!
//! The models of these protocols are in `pool/models.rs`, random schedules of more threads in `pool/schedules.rs`.

mod idle_set;
#[cfg(all(test, loom))]
mod models;
mod parker;
mod placement;
#[cfg(all(test, shuttle))]
mod schedules;
mod sleeper;
mod worker;

#[cfg(not(any(loom, shuttle)))]
pub(crate) use placement::thread_number;

pub use parker::{Parker, Reached};
pub use sleeper::{FutexSleeper, Sleeper, Slept};
pub use worker::Worker;

use crate::lock::Operation;
use crate::ordered::{Load, Store};
use crate::queue::{Origin, Padded, RunQueue};
use crate::schedule::{Schedulable, Schedule, WorkerId};
use idle_set::IdleSet;
use unspin_sync::atomic::AtomicBool;

/// A run queue, and the workers that sleep while it is empty.
pub struct Pool<T, S = FutexSleeper> {
    queue: Box<dyn RunQueue<T>>,
    sleeper: S,
    /// Whether workers are to stop. Set once.
    stops: AtomicBool,
    parkers: Box<[Padded<Parker>]>,
    idle: IdleSet,
}

impl<T: Schedulable, S: Sleeper> Pool<T, S> {
    /// A pool without workers: the caller runs a [`Worker`] in each of as many threads as the queue has workers.
    pub fn new(queue: Box<dyn RunQueue<T>>, sleeper: S) -> Pool<T, S> {
        let workers = queue.workers();
        Pool {
            queue,
            sleeper,
            stops: AtomicBool::new(false),
            parkers: (0..workers).map(|_| Padded(Parker::new())).collect(),
            idle: IdleSet::new(workers),
        }
    }

    /// The worker with this number, for the thread that is to be the worker.
    ///
    /// # Panics
    /// If another thread is this worker.
    pub fn worker(&self, id: WorkerId) -> Worker<'_, T, S> {
        Worker::new(self, id)
    }

    /// The run queue.
    pub fn queue(&self) -> &dyn RunQueue<T> {
        &*self.queue
    }

    /// What idle workers do.
    pub fn sleeper(&self) -> &S {
        &self.sleeper
    }

    /// Makes a task available to the workers, and wakes one if that is needed.
    #[inline]
    pub fn submit(&self, task: T, origin: Origin, operation: Operation) {
        if self.idle.is_any() && !self.idle.is_any_searching() {
            return self.submit_to_idle(task, origin, operation);
        }
        let to = self.target_without_wake_up(task.schedule(), origin);
        self.queue.push(task, to, origin, operation);
        self.notify();
    }

    /// The target of a task for which no worker is woken.
    #[inline(always)]
    fn target_without_wake_up(&self, task: Schedule, origin: Origin) -> WorkerId {
        placement::target_among_busy(&*self.queue, task, origin, |worker| self.idle.is_idle(worker))
    }

    #[cold]
    fn submit_to_idle(&self, task: T, origin: Origin, operation: Operation) {
        let schedule = task.schedule();
        let Some(worker) = self.idle.claim(schedule.last()) else {
            let to = self.target_without_wake_up(schedule, origin);
            self.queue.push(task, to, origin, operation);
            return self.notify();
        };
        self.idle.begin_search();
        // If the lock of its queue is taken, the task is elsewhere, and the worker steals it.
        self.queue.push(task, worker, origin, operation);
        self.unpark(worker);
    }

    /// Makes a task available that became runnable while this worker, which is idle, was in the driver: the worker is
    /// awake, so it runs the task itself, whatever its last worker was.
    pub fn submit_from_driver(&self, task: T, worker: WorkerId) {
        self.queue.push(task, worker, Origin::Worker(worker), Operation::Wake);
    }

    /// Wakes a worker if there may be a task and no worker searches.
    #[inline(always)]
    fn notify(&self) {
        if self.idle.is_any() && !self.idle.is_any_searching() {
            self.wake_idle(None);
        }
    }

    /// Wakes an idle worker, although there may be no task: the one that has been idle longest, but not `except`. Returns
    /// whether there was one.
    #[cold]
    pub(crate) fn wake_idle(&self, except: Option<WorkerId>) -> bool {
        let claimed = self.idle.claim_except(except);
        if let Some(worker) = claimed {
            self.idle.begin_search();
            self.unpark(worker);
        }
        claimed.is_some()
    }

    fn unpark(&self, worker: WorkerId) {
        if self.parkers[worker.index()].unpark() == Reached::SleepsInDriver {
            self.sleeper.interrupt();
        }
    }

    /// Whether [`stop`](Pool::stop) was called.
    #[inline(always)]
    pub fn is_stopped(&self) -> bool {
        // Sequentially consistent: partner of the store in `stop`, as for tasks.
        self.stops.load_seq_cst()
    }

    /// Lets all workers stop: [`next_task`](Worker::next_task) returns none, also if there are tasks.
    pub fn stop(&self) {
        self.stops.store_seq_cst(true);
        while let Some(worker) = self.idle.claim(None) {
            self.idle.begin_search();
            self.unpark(worker);
        }
    }
}

impl<T, S> core::fmt::Debug for Pool<T, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Pool").field("workers", &self.parkers.len()).finish_non_exhaustive()
    }
}
