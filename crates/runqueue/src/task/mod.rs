//! A task: a future, its state, and what it leaves. One allocation.
//!
//! | type | what it may do |
//! |---|---|
//! | [`Runnable`] | run the task. Only one exists at a time, and only while the task is scheduled |
//! | [`JoinHandle`] | await the output, cancel the task |
//! | `Waker` | schedule the task |
//! | [`Listed`] | cancel the task, when its executor ends |

mod cell;
mod error;
mod header;
mod join;
mod listed;
#[cfg(all(test, loom))]
mod models;
mod raw;
mod runnable;
mod state;
#[cfg(not(any(loom, shuttle)))]
mod suspended;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod waker;

pub use error::JoinError;
pub use join::JoinHandle;
pub(crate) use listed::Listed;
pub(crate) use runnable::{Ran, Runnable};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use suspended::SuspendedTasks;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use waker::TaskAddress;

use crate::schedule::Schedule;

/// The executor as its tasks see it.
pub(crate) trait Owner: Send + Sync + 'static {
    /// Puts a task that was woken into a run queue. Called by any thread.
    fn schedule(&self, task: Runnable);

    /// Adds a task to the list of suspended tasks, before its first suspension. Returns where it is.
    fn list(&self, task: Listed) -> u64;

    /// The task is about to be completed. Takes it from the list, if it has a place there (not 0). The task does not use
    /// its owner after that.
    fn retire(&self, place: u64) -> Option<Listed>;
}

/// The worker that runs a task.
pub(crate) trait Runner {
    /// The future was polled and is pending: the task's scheduling state with the time that it has used.
    fn charge(&self, schedule: Schedule) -> Schedule;

    /// Whether the task is to run again, although its waker may not have been used.
    fn has_yielded(&self) -> bool;
}

/// Makes a task that belongs to `owner`. It runs when its `Runnable` is run.
pub(crate) fn new<F, S>(future: F, schedule: Schedule, owner: S) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Owner,
{
    raw::allocate(future, schedule, owner)
}
