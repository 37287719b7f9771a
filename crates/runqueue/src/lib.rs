#![doc = include_str!("../README.md")]
//!
//! ## The modules
//!
//! | module | contents |
//! |---|---|
//! | [`schedule`] | goodness: the scheduling state of a task, by the rules of Linux 2.4 |
//! | [`ready`] | the ready list, which finds the best task in constant time; both policies share it |
//! | [`lock`] | the queues' locks and their uses in the meter's table |
//! | [`queue`] | the run queues: [`Global`](queue::Global), [`PerCpu`](queue::PerCpu) |
//! | [`pool`] | workers: idle ones, searching ones, and which of them gets a task that is woken |
//! | `task` | a future, its state and its output, in one allocation |
//! | `executor` | workers in threads, on a pool of tasks |
//! | `reactor` | sockets and timers |
//!
//! **Locks.** A thread holds the lock of at most one run queue at a time, and no other lock of this crate with it. It calls no
//! code of the program under a lock.
#![warn(missing_docs)]

mod contain;
#[cfg(not(any(loom, shuttle)))]
mod executor;
pub mod lock;
mod ordered;
pub mod pool;
pub mod queue;
#[cfg(not(any(loom, shuttle)))]
mod reactor;
pub mod ready;
pub mod schedule;
#[cfg_attr(any(loom, shuttle), expect(dead_code, reason = "models reach the protocols, not the executor"))]
mod task;
#[cfg(test)]
mod token;

#[cfg(not(any(loom, shuttle)))]
pub use executor::{
    BuildError, Builder, Executor, Shutdown, Spawner, UnknownRunQueue, block_on, environment_policy, spawn,
    spawn_blocking, spawn_with, yield_now,
};
#[cfg(not(any(loom, shuttle)))]
pub use reactor::{Async, Elapsed, Socket, Timeout, Timer, sleep, timeout};
pub use task::{JoinError, JoinHandle};
