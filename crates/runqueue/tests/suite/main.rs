//! Executors on either run queue.

mod ecosystem;
mod environment;
mod executor;
mod metered;
mod reads;
mod stress;
