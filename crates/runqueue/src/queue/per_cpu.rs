//! A queue and a lock for each worker, after the multi-queue (MQ) patch for Linux 2.4.
//!
//! As in MQ, each queue publishes its best task in a [`Summary`], which other workers read without the lock. A worker
//! takes the lock of another queue by trylock only, and under the lock it compares again before it takes a task. If a
//! worker finds no task, but has missed a trylock, it reads the summaries once more before it idles.
//!
//! The differences:
//!
//! | | MQ | here |
//! |---|---|---|
//! | when a worker with tasks compares its best with the summaries | in each `schedule` | if a queue has a task that beats every ordinary one; else in every [`LOOK_EVERY`]th pop, and only if its own best is below [`ORDINARY`] |
//! | how many tasks it steals | one | one if it has tasks; a batch if it has none |
//! | when the tasks that it stole were tiny | it steals again at once | it waits some microseconds before the next steal |
//! | tasks that wait behind one that runs for long | stay until a worker is idle | in every [`RELIEVE_EVERY`]th pop a worker checks one other queue, and takes a task from it if its worker has not popped since the last check |
//! | when spent slices are recalculated | when the tasks of all CPUs have spent theirs | in each queue when its own tasks have |
//!
//! So what a worker does on its own queue costs the same with any number of workers. MQ compared all summaries in each
//! call of `schedule`, which made a program with one runnable thread 27 % slower than the one queue of 2.4.

use crate::lock::{Operation, QueueLock, Recorder};
use crate::queue::counters::Counters;
use crate::queue::global::catch_up;
use crate::queue::summary::{Elevation, Summary, encode};
use crate::queue::{
    Claims, LockTimes, Origin, Padded, Policy, QueueStatistics, Requeue, RunQueue, WorkerClaim,
};
use crate::ready::{Grouping, ReadyList};
use crate::schedule::{Goodness, Schedulable, WorkerId};
use unspin_locks::RawLock;
use unspin_sync::atomic::{AtomicUsize, Ordering};

/// The run queue with a queue for each worker.
#[derive(Debug)]
pub struct PerCpu<L, T> {
    queues: Box<[WorkerQueue<L, T>]>,
    claims: Claims,
    /// Number of queues whose best task is elevated: see [`Elevation`].
    elevated: Padded<AtomicUsize>,
}

/// The queue of one worker.
#[derive(Debug)]
pub(crate) struct WorkerQueue<L, T> {
    pub lock: Padded<QueueLock<L, ReadyList<T>>>,
    pub summary: Summary,
    pub counters: Padded<Counters>,
}

/// A worker runs its best task without a look at other queues if the task is at least this good, and no other queue
/// has an elevated task. It is the goodness of a task of nice 0 with one tick left, on its own worker.
const ORDINARY: Goodness = Goodness::from_value(1 + 20 + 15);
/// A worker whose best task is worse looks at the summaries of others every so many pops.
const LOOK_EVERY: u64 = 16;

/// Every so many pops a worker looks at one other queue. If that queue has tasks, and its worker has not popped since
/// the last look, that worker is busy with a long task, and the worker that looks takes one of the tasks. So no task
/// waits for ever where no worker is ever idle.
const RELIEVE_EVERY: u64 = 64;

impl<L: RawLock, T: Schedulable> PerCpu<L, T> {
    /// Empty queues.
    pub fn new(workers: usize, recorder: Option<Recorder>) -> PerCpu<L, T> {
        assert!((1..=WorkerId::MAX).contains(&workers), "a run queue has 1 to 1024 workers");
        let queue = |number| {
            let list = ReadyList::new(Grouping::OwnedBy(WorkerId::new(number)));
            WorkerQueue {
                lock: Padded(QueueLock::new(number, list, recorder)),
                summary: Summary::new(),
                counters: Padded(Counters::new()),
            }
        };
        PerCpu {
            queues: (0..workers).map(queue).collect(),
            claims: Claims::new(workers),
            elevated: Padded(AtomicUsize::new(0)),
        }
    }

    pub(crate) fn queues(&self) -> &[WorkerQueue<L, T>] {
        &self.queues
    }

    /// The worker's own queue, whose counters only the worker writes.
    #[inline(always)]
    pub(crate) fn own(&self, worker: &WorkerClaim) -> &WorkerQueue<L, T> {
        &self.queues[worker.id().index()]
    }

    /// Waits for the lock of a queue, runs `f`, and publishes the summary.
    #[inline(always)]
    pub(crate) fn with<R>(
        &self,
        queue: usize,
        operation: Operation,
        f: impl FnOnce(&mut ReadyList<T>) -> R,
    ) -> R {
        let queue = &self.queues[queue];
        queue.lock.with(operation, |list| {
            let result = f(list);
            self.publish(queue, list);
            result
        })
    }

    /// Runs `f` under the lock of a queue and publishes the summary, if the lock is free. Else returns the argument.
    #[inline(always)]
    pub(crate) fn try_with<A, R>(
        &self,
        queue: usize,
        operation: Operation,
        argument: A,
        f: impl FnOnce(&mut ReadyList<T>, A) -> R,
    ) -> Result<R, A> {
        let queue = &self.queues[queue];
        queue.lock.try_with(operation, argument, |list, argument| {
            let result = f(list, argument);
            self.publish(queue, list);
            result
        })
    }

    /// Publishes what a queue contains, under its lock.
    #[inline(always)]
    fn publish(&self, queue: &WorkerQueue<L, T>, list: &ReadyList<T>) {
        // Relaxed: a hint.
        match queue.summary.publish(list) {
            Elevation::Same => {}
            Elevation::Began => _ = self.elevated.fetch_add(1, Ordering::Relaxed),
            Elevation::Ended => _ = self.elevated.fetch_sub(1, Ordering::Relaxed),
        }
    }

    /// Adds a task to the first queue, from `to` on, whose lock is free.
    fn push_from_outside(&self, mut task: T, to: usize, operation: Operation) -> usize {
        let count = self.queues.len();
        for queue in (to..count).chain(0..to) {
            match self.try_with(queue, operation, task, |list, task| list.push(task)) {
                Ok(()) => return queue,
                Err(back) => task = back,
            }
        }
        self.with(to, operation, |list| list.push(task));
        to
    }

    /// Whether a worker with a best task of this goodness has to compare it with the best tasks of other queues.
    #[inline(always)]
    fn must_compare(&self, own: &WorkerQueue<L, T>, best: Goodness) -> bool {
        // Relaxed: a hint. A worker that misses it sees it at its next pop.
        if self.elevated.load(Ordering::Relaxed) > 0 {
            return true;
        }
        best.with_affinity() < ORDINARY && own.counters.pops.get().is_multiple_of(LOOK_EVERY)
    }

    /// Takes a task from the queue that this worker watches, if that queue's worker is stuck. Otherwise watches the next
    /// queue.
    #[cold]
    fn relieve(&self, worker: &mut WorkerClaim) -> Option<T> {
        let own = &self.own(worker).counters;
        let victim = own.watched.get() as usize % self.queues.len();
        let (queue, pops) = (&self.queues[victim], self.queues[victim].counters.pops.get());
        if victim == worker.id().index() || queue.summary.best_word() == 0 || pops != own.watched_pops.get() {
            // That worker is not stuck.
            let next = (victim + 1) % self.queues.len();
            own.watched.set(next as u64);
            own.watched_pops.set(self.queues[next].counters.pops.get());
            return None;
        }
        self.steal_from(worker, victim)
    }

    /// Takes a better task than the worker's own best from another queue, if there is one.
    #[cold]
    fn steal_better(&self, worker: &mut WorkerClaim, best: Goodness) -> Option<T> {
        self.steal_one(worker, encode(Some(best.with_affinity())))
    }
}

impl<L: RawLock, T: Schedulable> RunQueue<T> for PerCpu<L, T> {
    fn policy(&self) -> Policy {
        Policy::PerCpu
    }

    fn workers(&self) -> usize {
        self.queues.len()
    }

    fn push(&self, mut task: T, to: WorkerId, origin: Origin, operation: Operation) -> WorkerId {
        if let Some(last) = task.schedule().last() {
            catch_up(&mut task, self.queues[last.index()].summary.epoch());
        }
        let own = match origin {
            Origin::Worker(own) if own == to => own,
            Origin::Worker(own) => {
                match self.try_with(to.index(), operation, task, |list, task| list.push(task)) {
                    Ok(()) => return to,
                    Err(back) => {
                        task = back;
                        self.queues[own.index()].counters.missed.add(1);
                        own
                    }
                }
            }
            Origin::Outside => return WorkerId::new(self.push_from_outside(task, to.index(), operation)),
        };
        self.with(own.index(), operation, |list| list.push(task));
        own
    }

    fn claims(&self) -> &Claims {
        &self.claims
    }

    fn pop(&self, worker: &mut WorkerClaim) -> Option<T> {
        let own = self.own(worker);
        own.counters.pops.add(1);
        if own.counters.pops.get().is_multiple_of(RELIEVE_EVERY)
            && let Some(task) = self.relieve(worker)
        {
            return Some(task);
        }
        if let Some(best) = own.summary.best() {
            if self.must_compare(own, best)
                && let Some(better) = self.steal_better(worker, best)
            {
                return Some(better);
            }
            // Other workers may have taken all tasks in the meantime.
            if let Some(task) = self.with(worker.id().index(), Operation::Pop, |list| list.pop(worker.id())) {
                return Some(task);
            }
        }
        self.steal_batch(worker)
    }

    fn requeue(&self, mut task: T, worker: &mut WorkerClaim, how: Requeue) -> T {
        let own = self.own(worker);
        own.counters.pops.add(1);
        let best = own.summary.best().unwrap_or(Goodness::SPENT).max(task.schedule().plain_goodness());
        let better = if own.counters.pops.get().is_multiple_of(RELIEVE_EVERY) {
            self.relieve(worker)
        } else if self.must_compare(own, best) {
            self.steal_better(worker, best)
        } else {
            None
        };
        if let Some(better) = better {
            catch_up(&mut task, own.summary.epoch());
            self.with(worker.id().index(), Operation::Yield, |list| list.push(task));
            return better;
        }
        self.with(worker.id().index(), Operation::Yield, |list| match how {
            Requeue::Yielded => list.exchange(task, worker.id()),
            Requeue::Woken => {
                catch_up(&mut task, list.epoch());
                list.replace(task, worker.id())
            }
        })
    }

    fn take_any(&self) -> Option<T> {
        (0..self.queues.len())
            .find_map(|queue| self.with(queue, Operation::Pop, |list| list.take(WorkerId::new(queue))))
    }

    #[inline]
    fn best(&self, worker: WorkerId) -> Option<Goodness> {
        self.queues[worker.index()].summary.best()
    }

    fn epoch(&self, worker: WorkerId) -> u32 {
        self.queues[worker.index()].summary.epoch()
    }

    fn len(&self) -> usize {
        self.queues.iter().map(|queue| queue.summary.len()).sum()
    }

    fn is_empty(&self) -> bool {
        self.queues.iter().all(|queue| queue.summary.is_empty())
    }

    fn statistics(&self) -> Vec<QueueStatistics> {
        let statistics = |queue: &WorkerQueue<L, T>| QueueStatistics {
            len: queue.summary.len(),
            steals: queue.counters.steals.get(),
            stolen: queue.counters.stolen.get(),
            missed_trylocks: queue.counters.missed.get(),
            premature_idles: queue.counters.premature_idles.get(),
            lock: queue
                .lock
                .recorder()
                .map(|recorder| LockTimes::from_recording(recorder, queue.lock.number())),
        };
        self.queues.iter().map(statistics).collect()
    }
}
