//! One queue and one lock for all workers.

use crate::lock::{Operation, QueueLock, Recorder};
use crate::queue::summary::Summary;
use crate::queue::{
    Claims, LockTimes, Origin, Padded, Policy, QueueStatistics, Requeue, RunQueue, WorkerClaim,
};
use crate::ready::{Grouping, ReadyList};
use crate::schedule::{Goodness, Schedulable, WorkerId};
use unspin_locks::RawLock;

/// The run queue of the 2.4 kernel: every push and every pop takes the one lock.
#[derive(Debug)]
pub struct Global<L, T> {
    workers: usize,
    claims: Claims,
    lock: Padded<QueueLock<L, ReadyList<T>>>,
    summary: Summary,
}

impl<L: RawLock, T: Schedulable> Global<L, T> {
    /// An empty queue.
    pub fn new(workers: usize, recorder: Option<Recorder>) -> Global<L, T> {
        assert!((1..=WorkerId::MAX).contains(&workers), "a run queue has 1 to 1024 workers");
        let list = ReadyList::new(Grouping::ByLastWorker(workers));
        let claims = Claims::new(workers);
        Global { workers, claims, lock: Padded(QueueLock::new(0, list, recorder)), summary: Summary::new() }
    }

    #[inline(always)]
    fn with<R>(&self, operation: Operation, f: impl FnOnce(&mut ReadyList<T>) -> R) -> R {
        self.lock.with(operation, |list| {
            let result = f(list);
            // There is no other queue to compare with.
            let _ = self.summary.publish(list);
            result
        })
    }
}

impl<L: RawLock, T: Schedulable> RunQueue<T> for Global<L, T> {
    fn policy(&self) -> Policy {
        Policy::Global
    }

    fn workers(&self) -> usize {
        self.workers
    }

    fn push(&self, mut task: T, to: WorkerId, _: Origin, operation: Operation) -> WorkerId {
        self.with(operation, |list| {
            catch_up(&mut task, list.epoch());
            list.push(task);
        });
        to
    }

    fn claims(&self) -> &Claims {
        &self.claims
    }

    fn pop(&self, worker: &mut WorkerClaim) -> Option<T> {
        if self.summary.best_word() == 0 {
            return None;
        }
        self.with(Operation::Pop, |list| list.pop(worker.id()))
    }

    fn requeue(&self, mut task: T, worker: &mut WorkerClaim, how: Requeue) -> T {
        self.with(Operation::Yield, |list| match how {
            Requeue::Yielded => list.exchange(task, worker.id()),
            Requeue::Woken => {
                catch_up(&mut task, list.epoch());
                list.replace(task, worker.id())
            }
        })
    }

    fn take_any(&self) -> Option<T> {
        self.with(Operation::Pop, |list| list.take(WorkerId::new(0)))
    }

    #[inline]
    fn best(&self, _: WorkerId) -> Option<Goodness> {
        self.summary.best()
    }

    fn epoch(&self, _: WorkerId) -> u32 {
        self.summary.epoch()
    }

    fn len(&self) -> usize {
        self.summary.len()
    }

    fn is_empty(&self) -> bool {
        self.summary.is_empty()
    }

    fn statistics(&self) -> Vec<QueueStatistics> {
        let lock =
            self.lock.recorder().map(|recorder| LockTimes::from_recording(recorder, self.lock.number()));
        vec![QueueStatistics { len: self.len(), lock, ..QueueStatistics::default() }]
    }
}

/// Applies the recalculations that the task has missed.
#[inline(always)]
pub(crate) fn catch_up<T: Schedulable>(task: &mut T, epoch: u32) {
    let schedule = task.schedule();
    let now = schedule.recalculate_to(epoch);
    if now != schedule {
        task.set_schedule(now);
    }
}
