//! What distinguishes the kinds.

use crate::waiting::SpinPolicy;

/// Which waiter acquires a lock that is released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Phases of readers and phases of writers alternate. The lock is handed to the waiters of the next phase.
    Phases,
    /// A writer that finds the lock free takes it. Readers that wait enter together when no writer waits. A waiter that has
    /// waited long is handed the lock.
    WritersFirst,
}

/// A kind of read-write lock.
pub trait Policy: Send + Sync + 'static {
    /// Which waiter acquires.
    const ORDER: Order;
    /// Whether readers publish themselves in slots while no writer comes. Then readers that come also overtake a writer that waits,
    /// until it has waited long.
    const IS_BIASED: bool;
    /// How a waiter spends its time before it sleeps.
    type Waiting: SpinPolicy;
}
