//! How an executor is made.

use crate::executor::environment::{self, UnknownRunQueue, environment_policy};
use crate::executor::idling::Idling;
use crate::executor::shared::Shared;
use crate::executor::work::work;
use crate::executor::{Executor, Spawner};
use crate::lock::Recorder;
use crate::pool::Pool;
use crate::queue::{Policy, QueueOptions, UnsupportedLock};
use crate::schedule::WorkerId;
use core::fmt;
use std::io;
use std::sync::Arc;
use unspin_locks::LockKind;
use unspin_sync::thread;
use unspin_sys::sched;
use unspin_wire::Recording;

/// Options of an executor.
#[derive(Clone, Debug)]
pub struct Builder {
    queue: QueueOptions,
    placement: Placement,
    name: String,
}

/// Where workers run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Placement {
    /// Where the kernel puts them.
    Anywhere,
    /// Each on one CPU.
    Pinned,
}

/// An executor could not be made.
#[derive(Debug)]
pub enum BuildError {
    /// The number of workers is 0 or too large.
    Workers(usize),
    /// The environment names a run queue that does not exist.
    RunQueue(UnknownRunQueue),
    /// The kind of lock is libc's.
    Lock(UnsupportedLock),
    /// The name of the workers' threads has a NUL byte.
    ThreadName(String),
    /// A thread could not be started.
    Thread(io::Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Workers(count) => {
                write!(f, "an executor has 1 to {} workers, not {count}", WorkerId::MAX)
            }
            BuildError::RunQueue(error) => error.fmt(f),
            BuildError::Lock(error) => error.fmt(f),
            BuildError::ThreadName(name) => write!(f, "the thread name {name:?} has a NUL byte: remove it"),
            BuildError::Thread(error) => write!(f, "a worker's thread could not be started: {error}"),
        }
    }
}

impl std::error::Error for BuildError {}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// A queue for each worker, as many workers as the calling thread may use CPUs, adaptive locks, no recording.
    pub fn new() -> Builder {
        Builder {
            queue: QueueOptions::new(Policy::PerCpu, sched::affinity_count()),
            placement: Placement::Anywhere,
            name: "unspin-worker".into(),
        }
    }

    /// Uses this run queue, unless the environment names another one: the operator of a program decides after its author.
    /// `UNSPIN_RUNQUEUE=global` or `UNSPIN_RUNQUEUE=percpu` applies to every executor of the process.
    /// [`environment_policy`] reads it, [`Executor::policy`] has the result.
    pub fn policy(mut self, policy: Policy) -> Builder {
        self.queue.policy = policy;
        self
    }

    /// Uses this number of workers.
    pub fn workers(mut self, workers: usize) -> Builder {
        self.queue.workers = workers;
        self
    }

    /// Uses this kind of lock for the run queues.
    pub fn lock(mut self, lock: LockKind) -> Builder {
        self.queue.lock = lock;
        self
    }

    /// Records the uses of the run queues' locks.
    ///
    /// Without a recording of its own an executor records where the environment says (`UNSPIN_RECORD`, which
    /// `unspin meter` and `unspin prove` set), if it says so.
    pub fn recording(mut self, recording: &'static Recording) -> Builder {
        self.queue.recorder = Some(Recorder::new(recording));
        self
    }

    /// Binds each worker to one CPU. If there are more workers than CPUs, several share one.
    pub fn pin_workers(mut self) -> Builder {
        self.placement = Placement::Pinned;
        self
    }

    /// Names the workers' threads: this, a hyphen, and a number. With a NUL byte in it [`build`](Builder::build) fails.
    pub fn thread_name(mut self, name: &str) -> Builder {
        self.name = name.into();
        self
    }

    /// Starts the workers.
    pub fn build(self) -> Result<Executor, BuildError> {
        let QueueOptions { policy, workers, recorder, .. } = self.queue;
        if !(1..=WorkerId::MAX).contains(&workers) {
            return Err(BuildError::Workers(workers));
        }
        if self.name.contains('\0') {
            return Err(BuildError::ThreadName(self.name));
        }
        let policy = environment_policy().map_err(BuildError::RunQueue)?.unwrap_or(policy);
        let recorder = recorder.or_else(environment::recorder);
        let queue = QueueOptions { policy, recorder, ..self.queue }.build().map_err(BuildError::Lock)?;
        let shared = Arc::new(Shared::new(Pool::new(queue, Idling::new())));
        let mut executor = Executor { spawner: Spawner { shared }, threads: Vec::with_capacity(workers) };
        let cpus = sched::allowed_cpus();
        for number in 0..workers {
            let shared = Arc::clone(&executor.spawner.shared);
            let cpu = match self.placement {
                Placement::Pinned if !cpus.is_empty() => Some(cpus[number % cpus.len()]),
                _ => None,
            };
            let thread = thread::Builder::new().name(format!("{}-{number}", self.name)).spawn(move || {
                cpu.inspect(|&cpu| sched::stay_on(cpu));
                work(shared, WorkerId::new(number));
            });
            // Dropping the executor ends the workers that were started.
            executor.threads.push(thread.map_err(BuildError::Thread)?);
        }
        environment::count(policy);
        Ok(executor)
    }

    /// Starts the workers, calls `f`, waits until all tasks and blocking closures have ended, and ends the workers.
    ///
    /// ```
    /// use unspin_runqueue::Builder;
    ///
    /// let sum = Builder::new().workers(2).pin_workers().scope(|executor| {
    ///     let tasks: Vec<_> = (0..10).map(|number| executor.spawn(async move { number })).collect();
    ///     executor.block_on(async {
    ///         let mut sum = 0;
    ///         for task in tasks {
    ///             sum += task.await.unwrap();
    ///         }
    ///         sum
    ///     })
    /// });
    /// assert_eq!(sum.unwrap(), 45);
    /// ```
    pub fn scope<R>(self, f: impl FnOnce(&Executor) -> R) -> Result<R, BuildError> {
        let executor = self.build()?;
        let result = f(&executor);
        executor.wait_until_idle(None);
        Ok(result)
    }
}
