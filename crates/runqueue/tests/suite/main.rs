//! Executors on either run queue.

mod ecosystem;
mod environment;
mod events;
mod executor;
mod metered;
mod reads;
mod stress;
