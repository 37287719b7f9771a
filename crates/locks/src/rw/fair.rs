//! Phase-fair (Brandenburg and Anderson, "Spin-Based Reader-Writer Synchronization for Multiprocessor Real-Time Systems",
//! Real-Time Systems 46, 2010): phases of readers and of writers alternate as long as both wait. A reader waits for one
//! writer at most; a writer waits for the writers before it, and for one phase of readers before each.
//!
//! In the paper waiters spin without a limit. Here they spin adaptively and then sleep. Each hand-off to a sleeper costs a
//! wake-up during which the lock is idle.

use super::order::{Order, Policy};
use super::phased::Phased;
use crate::waiting::SpinThenPark;

/// See the module documentation.
pub type RwFair = Phased<FairPhases>;

/// The policy of [`RwFair`].
#[derive(Debug)]
pub struct FairPhases;

impl Policy for FairPhases {
    const ORDER: Order = Order::Phases;
    const IS_BIASED: bool = false;
    type Waiting = SpinThenPark;
}
