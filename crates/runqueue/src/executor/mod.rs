//! An executor on the run queues.

mod blocking;
mod blocking_on;
mod builder;
mod context;
mod counts;
mod environment;
mod idling;
mod reactor_check;
mod shared;
mod timed_wait;
mod work;
mod yielding;

pub use blocking_on::block_on;
pub use builder::{BuildError, Builder};
pub use environment::{UnknownRunQueue, environment_policy};
pub use yielding::yield_now;

use crate::queue::{Policy, QueueStatistics};
use crate::schedule::{Nice, Priority};
use crate::task::JoinHandle;
use context::Context;
use core::fmt;
use core::time::Duration;
use shared::Shared;
use std::io;
use std::sync::Arc;
use std::time::Instant;
use unspin_sync::thread;
use unspin_sys::sched;

/// Workers that run tasks. Dropping it ends them: every task that has not ended is cancelled.
///
/// Closures of [`spawn_blocking`] are tasks of the executor, with one difference: a closure that runs cannot be cancelled.
/// Dropping the executor does not wait for it. Its thread goes on until it returns.
#[derive(Debug)]
pub struct Executor {
    spawner: Spawner,
    threads: Vec<thread::JoinHandle<()>>,
}

/// Starts tasks on an executor. After the executor's end the tasks that it starts are cancelled at once.
#[derive(Clone)]
pub struct Spawner {
    shared: Arc<Shared>,
}

/// How an executor ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shutdown {
    /// All tasks had ended.
    Complete,
    /// This number of tasks had not ended, and was cancelled.
    ///
    /// The number includes the closures of [`spawn_blocking`]: those that waited for a thread were cancelled. Those that
    /// ran could not be cancelled, and go on.
    Cancelled(u64),
}

/// The first and the longest interval at which a thread that waits for the end of all tasks checks their number. Tasks do
/// not notify the thread, because that would cost each of them more.
const LOOK_FIRST: Duration = Duration::from_micros(50);
const LOOK_LAST: Duration = Duration::from_millis(5);

impl Executor {
    /// An executor with the options of [`Builder::new`].
    pub fn new() -> Result<Executor, BuildError> {
        Builder::new().build()
    }

    /// A value that starts tasks on this executor, for other threads.
    pub fn spawner(&self) -> &Spawner {
        &self.spawner
    }

    /// Starts a task; see [`Spawner::spawn`].
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawner.spawn(future)
    }

    /// Starts a task with a priority and a nice value.
    pub fn spawn_with<F>(&self, priority: Priority, nice: Nice, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawner.spawn_with(priority, nice, future)
    }

    /// Runs a closure that may block; see [`Spawner::spawn_blocking`].
    pub fn spawn_blocking<R, F>(&self, closure: F) -> io::Result<JoinHandle<R>>
    where
        R: Send + 'static,
        F: FnOnce() -> R + Send + 'static,
    {
        self.spawner.spawn_blocking(closure)
    }

    /// Runs a future in the calling thread; see [`Spawner::block_on`].
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.spawner.block_on(future)
    }

    /// The run queue.
    pub fn policy(&self) -> Policy {
        self.spawner.shared.pool.queue().policy()
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.spawner.shared.pool.queue().workers()
    }

    /// Number of tasks that have not ended, closures of [`spawn_blocking`] included.
    pub fn tasks(&self) -> u64 {
        self.spawner.shared.alive()
    }

    /// The counts of each run queue.
    pub fn statistics(&self) -> Vec<QueueStatistics> {
        self.spawner.shared.pool.queue().statistics()
    }

    /// Waits until all tasks and closures of [`spawn_blocking`] have ended, at most for this time. Returns whether they
    /// have.
    ///
    /// A task or closure of this executor must not call it without a limit: it would wait for itself.
    pub fn wait_until_idle(&self, most: Option<Duration>) -> bool {
        let until = most.and_then(|most| Instant::now().checked_add(most));
        let mut interval = LOOK_FIRST;
        while self.tasks() > 0 {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
            sched::sleep(left.map_or(interval, |left| left.min(interval)));
            interval = (interval * 2).min(LOOK_LAST);
        }
        true
    }

    /// Waits until all tasks and closures of [`spawn_blocking`] have ended, at most for this time, then ends the workers.
    /// Tasks that are left are cancelled, and so are closures that no thread has begun. Closures that run go on.
    pub fn shutdown(self, grace: Duration) -> Shutdown {
        match self.wait_until_idle(Some(grace)) {
            true => Shutdown::Complete,
            // The last one may have ended meanwhile.
            false => match self.tasks() {
                0 => Shutdown::Complete,
                tasks => Shutdown::Cancelled(tasks),
            },
        }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        let shared = Arc::clone(&self.spawner.shared);
        let threads = core::mem::take(&mut self.threads);
        shared.refuse();
        shared.pool.stop();
        shared.blocking.close();
        let end = move || {
            for thread in threads {
                // A worker does not panic: a task's panic stays in its handle.
                let _ = thread.join();
            }
            shared.end_all_tasks();
        };
        // A worker cannot wait for its own end.
        let is_worker = Context::with(|context| {
            context.is_some_and(|context| Arc::ptr_eq(&context.shared, &self.spawner.shared))
        });
        if !is_worker {
            end();
        } else if thread::Builder::new().spawn(end).is_err() {
            // No thread is left that could wait. What runs goes on, and may use the executor at any time: it stays.
            let shared = Arc::clone(&self.spawner.shared);
            shared.cancel_queued_tasks();
            shared.suspended.cancel_all();
            core::mem::forget(shared);
        }
    }
}

impl Spawner {
    /// The executor of the calling thread: of the task that runs in it, or of the [`block_on`](Spawner::block_on) or
    /// the blocking closure that it is in.
    pub fn current() -> Option<Spawner> {
        context::current().map(|shared| Spawner { shared })
    }

    /// Starts a task.
    #[inline]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.shared.spawn(Priority::Normal, Nice::DEFAULT, future)
    }

    /// Starts a task with a priority and a nice value.
    pub fn spawn_with<F>(&self, priority: Priority, nice: Nice, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.shared.spawn(priority, nice, future)
    }

    /// Runs a closure that may block, in a thread for such closures. Fails if there is none, and none can be started.
    ///
    /// The closure is a task of the executor: [`Executor::shutdown`] waits for it. A closure that has begun cannot be
    /// cancelled. An executor has at most 512 threads for closures. More closures wait in a queue, which has no limit.
    pub fn spawn_blocking<R, F>(&self, closure: F) -> io::Result<JoinHandle<R>>
    where
        R: Send + 'static,
        F: FnOnce() -> R + Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        self.shared.blocking.spawn(move || context::enter_outside(&shared, closure))
    }

    /// Runs a future in the calling thread until it is ready. The future need not be `Send`. Within it,
    /// [`spawn`] starts tasks on this executor.
    ///
    /// Called by a task it blocks that task's worker. A future that waits for tasks of the same executor then needs another
    /// worker, which takes them.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        context::enter_outside(&self.shared, || blocking_on::block_beside_workers(&self.shared, future))
    }
}

impl fmt::Debug for Spawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawner").field("tasks", &self.shared.alive()).finish_non_exhaustive()
    }
}

/// Starts a task on the executor of the calling thread.
///
/// # Panics
/// If the thread has none: see [`Spawner::current`].
#[inline]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn_with(Priority::Normal, Nice::DEFAULT, future)
}

/// Starts a task with a priority and a nice value on the executor of the calling thread.
///
/// # Panics
/// As [`spawn`].
pub fn spawn_with<F>(priority: Priority, nice: Nice, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Context::with_if_uncovered(|context| match context {
        Some(context) => context.shared.spawn(priority, nice, future),
        None => here("spawn").shared.spawn(priority, nice, future),
    })
}

/// Runs a closure that may block, on the executor of the calling thread; see [`Spawner::spawn_blocking`].
///
/// # Panics
/// As [`spawn`].
pub fn spawn_blocking<R, F>(closure: F) -> io::Result<JoinHandle<R>>
where
    R: Send + 'static,
    F: FnOnce() -> R + Send + 'static,
{
    here("spawn_blocking").spawn_blocking(closure)
}

#[track_caller]
fn here(caller: &str) -> Spawner {
    Spawner::current().unwrap_or_else(|| panic!("{caller} was called in a thread that has no executor"))
}
