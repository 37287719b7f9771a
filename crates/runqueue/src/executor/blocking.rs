//! Threads for closures that block.

use crate::executor::counts::TaskCounts;
use crate::schedule::{Nice, Schedule};
use crate::task::{self, JoinHandle, Listed, Owner, Ran, Runnable, Runner};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use unspin_sync::thread;

/// The most threads of a pool. Closures beyond that wait.
const THREADS_MAX: usize = 512;
/// A thread that has had nothing to do for so long ends.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// The threads that run blocking closures.
pub(crate) struct BlockingPool {
    state: Mutex<State>,
    changed: Condvar,
    /// Closures that were spawned and that have ended. Apart from the tasks' counts: an executor does not end before its
    /// tasks, but it does not wait for a closure that runs.
    counts: TaskCounts,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Runnable>,
    threads: usize,
    idle: usize,
    /// No closure is begun any more.
    is_closed: bool,
}

/// Closures use their pool only to be counted: they run to their end in its thread.
struct BlockingOwner(Arc<BlockingPool>);

impl Owner for BlockingOwner {
    fn schedule(&self, task: Runnable) {
        // A closure never waits, so it is never woken.
        drop(task);
    }

    fn list(&self, _: Listed) -> u64 {
        unreachable!("a closure is never suspended")
    }

    fn retire(&self, _: u64) -> Option<Listed> {
        self.0.counts.end(None);
        None
    }
}

/// A closure is never pending, so its thread is asked nothing.
impl Runner for BlockingPool {
    fn charge(&self, schedule: Schedule) -> Schedule {
        schedule
    }

    fn has_yielded(&self) -> bool {
        false
    }
}

/// A closure as a future that is ready at its first poll.
struct Closure<F>(Option<F>);

impl<F> Unpin for Closure<F> {}

impl<R, F: FnOnce() -> R> Future for Closure<F> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<R> {
        let closure = self.0.take().expect("a future is not polled after it was ready");
        Poll::Ready(closure())
    }
}

impl BlockingPool {
    pub fn new() -> Arc<BlockingPool> {
        Arc::new(BlockingPool {
            state: Mutex::default(),
            changed: Condvar::new(),
            // No worker runs closures.
            counts: TaskCounts::new(0),
        })
    }

    /// Closures that were spawned and that have ended: a closure ends when it returns, panics or is cancelled.
    pub fn counts(&self) -> &TaskCounts {
        &self.counts
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // No code of the program runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a closure in a thread of the pool. Fails if there is no thread, and none can be made.
    pub fn spawn<R: Send + 'static>(
        self: &Arc<BlockingPool>,
        closure: impl FnOnce() -> R + Send + 'static,
    ) -> io::Result<JoinHandle<R>> {
        self.counts.start(None);
        let owner = BlockingOwner(Arc::clone(self));
        let (task, handle) = task::new(Closure(Some(closure)), Schedule::normal(Nice::DEFAULT), owner);
        let mut state = self.state();
        if state.is_closed {
            drop(state);
            task.cancel();
            return Ok(handle);
        }
        state.queue.push_back(task);
        if state.idle >= state.queue.len() {
            drop(state);
            self.changed.notify_one();
        } else if state.threads < THREADS_MAX {
            state.threads += 1;
            drop(state);
            self.start_thread()?;
        }
        Ok(handle)
    }

    fn start_thread(self: &Arc<BlockingPool>) -> io::Result<()> {
        let pool = Arc::clone(self);
        let started = thread::Builder::new().name("unspin-blocking".into()).spawn(move || pool.work());
        let Err(error) = started else { return Ok(()) };
        let mut state = self.state();
        state.threads -= 1;
        // With another thread the closure runs later.
        if state.threads > 0 {
            return Ok(());
        }
        let tasks = core::mem::take(&mut state.queue);
        drop(state);
        drop(tasks);
        Err(error)
    }

    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(task) = state.queue.pop_front() {
                drop(state);
                // The closure never waits, so there is no second run.
                let Ran::Done = task.run(self) else { unreachable!("a closure is never woken") };
                state = self.state();
            } else if state.is_closed {
                break;
            } else {
                state.idle += 1;
                let (woken, wait) = self
                    .changed
                    .wait_timeout_while(state, IDLE_MAX, |state| state.queue.is_empty() && !state.is_closed)
                    .unwrap_or_else(PoisonError::into_inner);
                state = woken;
                state.idle -= 1;
                if wait.timed_out() && state.queue.is_empty() {
                    break;
                }
            }
        }
        state.threads -= 1;
    }

    /// Cancels the closures that have not begun. Threads end after their present ones.
    pub fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let tasks = core::mem::take(&mut state.queue);
        drop(state);
        self.changed.notify_all();
        drop(tasks);
    }
}
