//! What a run queue is made from.

use crate::lock::Recorder;
use crate::queue::{Global, PerCpu, Policy, RunQueue};
use crate::schedule::Schedulable;
use core::fmt;
use unspin_locks::{LockKind, LockVisitor, RawLock};

/// Policy, size, locks and recording of a run queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueOptions {
    /// The policy.
    pub policy: Policy,
    /// Number of workers: 1 to [`WorkerId::MAX`](crate::schedule::WorkerId::MAX).
    pub workers: usize,
    /// The locks of the queues.
    pub lock: LockKind,
    /// Records the uses of the locks.
    pub recorder: Option<Recorder>,
}

/// Error: a run queue cannot use libc's mutexes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnsupportedLock(pub LockKind);

impl fmt::Display for UnsupportedLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a run queue has no lock of the kind {}, which is libc's mutex", self.0)
    }
}

impl std::error::Error for UnsupportedLock {}

impl QueueOptions {
    /// A queue for this many workers, with adaptive locks and no recording.
    pub fn new(policy: Policy, workers: usize) -> QueueOptions {
        QueueOptions { policy, workers, lock: LockKind::Adaptive, recorder: None }
    }

    /// Makes the queue.
    pub fn build<T: Schedulable + 'static>(self) -> Result<Box<dyn RunQueue<T>>, UnsupportedLock> {
        self.lock.visit(Build(self, core::marker::PhantomData)).ok_or(UnsupportedLock(self.lock))
    }
}

struct Build<T>(QueueOptions, core::marker::PhantomData<T>);

impl<T: Schedulable + 'static> LockVisitor for Build<T> {
    type Output = Box<dyn RunQueue<T>>;

    fn visit<L: RawLock>(self) -> Box<dyn RunQueue<T>> {
        let Build(options, _) = self;
        match options.policy {
            Policy::Global => Box::new(Global::<L, T>::new(options.workers, options.recorder)),
            Policy::PerCpu => Box::new(PerCpu::<L, T>::new(options.workers, options.recorder)),
        }
    }
}
