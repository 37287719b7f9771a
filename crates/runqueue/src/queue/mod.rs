//! Run queues behind one trait, in two policies that a program chooses at run time.

mod counters;
mod global;
mod local;
mod options;
mod padded;
mod per_cpu;
mod policy;
mod statistics;
mod stealing;
pub(crate) mod summary;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

pub use global::Global;
pub use local::{Claims, Local, WorkerClaim};
pub use options::{QueueOptions, UnsupportedLock};
pub(crate) use padded::Padded;
pub use per_cpu::PerCpu;
pub use policy::{Policy, UnknownPolicy};
pub use statistics::{LockTimes, QueueStatistics};

use crate::lock::Operation;
use crate::schedule::{Goodness, Schedulable, WorkerId};

/// The thread that pushes a task.
///
/// A worker is given as a number, not by its [`Local`]: most pushes come from wakers, which have no reference to it. A
/// waker also runs while its worker sleeps in the reactor, and that sleep borrows the [`Local`] mutably. A wrong number
/// loses no task. The thread then waits for the lock of a queue that belongs to another worker, and a count of missed
/// locks may be too small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The worker of the queue that the calling thread is.
    Worker(WorkerId),
    /// Any other thread.
    Outside,
}

/// How a task that has just run came to be runnable again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Requeue {
    /// It yields: all others go first, for this once.
    Yielded,
    /// It was woken while it ran: it goes on if it is the best.
    Woken,
}

/// The tasks that wait for a worker. Every task that is pushed is popped once.
///
/// A queue only orders tasks. Which worker gets a task that is woken, and when workers sleep, is up to
/// [`Pool`](crate::pool::Pool). A worker takes tasks through its [`Local`], which alone has the [`WorkerClaim`] that
/// `pop` and `requeue` ask for.
pub trait RunQueue<T: Schedulable>: Send + Sync {
    /// The policy.
    fn policy(&self) -> Policy;

    /// Number of workers.
    fn workers(&self) -> usize;

    /// Adds a task, preferably to the queue of the worker `to`. Returns the worker to whose queue it was added.
    ///
    /// A thread never waits for the lock of a queue that belongs to another worker, unless it is no worker itself and
    /// the locks of all queues are taken.
    fn push(&self, task: T, to: WorkerId, origin: Origin, operation: Operation) -> WorkerId;

    /// Which workers have a [`Local`].
    fn claims(&self) -> &Claims;

    /// Answers [`Local::pop`].
    fn pop(&self, worker: &mut WorkerClaim) -> Option<T>;

    /// Answers [`Local::requeue`].
    fn requeue(&self, task: T, worker: &mut WorkerClaim, how: Requeue) -> T;

    /// Takes any task, for a thread that ends all tasks. It waits for the locks of the queues.
    fn take_any(&self) -> Option<T>;

    /// The goodness of the best task in the queue from which the worker pops, without the affinity bonus. One load,
    /// without a lock.
    fn best(&self, worker: WorkerId) -> Option<Goodness>;

    /// Number of recalculations of the queue from which the worker pops.
    fn epoch(&self, worker: WorkerId) -> u32;

    /// Number of tasks. One load for each queue, without a lock.
    fn len(&self) -> usize;

    /// Whether there is no task. One load for each queue, without a lock.
    ///
    /// Sequentially consistent with pushes to an empty queue. Say that one thread stores a word, then finds no task,
    /// and another thread pushes, then loads the word. If the word's store and load are sequentially consistent too, at
    /// least one of the two threads sees what the other has stored.
    fn is_empty(&self) -> bool;

    /// The counts of each queue.
    fn statistics(&self) -> Vec<QueueStatistics>;
}
