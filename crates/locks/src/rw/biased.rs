//! Biased towards readers: BRAVO (Dice and Kogan, "BRAVO: Biased Locking for Reader-Writer Locks", USENIX ATC 2019) over
//! [`RwWriter`](super::RwWriter). While no writer comes, a reader publishes itself in a slot of a table, and writes to no cache line
//! that other threads write to. A writer *revokes* the bias: it clears it, and waits until no reader is published. The bias
//! returns when the time of the revocation has paid ([`revocation`](super::revocation)).
//!
//! What differs from the paper:
//!
//! - A writer that waits for a slot sleeps after a bounded spin, since readers are preempted. The release of the slot wakes it.
//! - The writer waits for the slots while it is queued, before it has the lock. So a reader that holds another lock can enter,
//!   as [`Recursion::Allowed`](super::Recursion) promises.
//! - While a writer waits for a reader that is counted, readers that come are counted too, and overtake it. When the writer has
//!   waited for some milliseconds it keeps them out.
//! - A release by another thread than the reader's finds the slot in the table.
//! - A writer whose time is over restores the bias, if no other writer waits.
//! - Slots are chosen by thread first ([`slots`](super::slots)), and there is no fence in a reader that relies on membarrier(2).

use super::order::{Order, Policy};
use super::phased::Phased;
use crate::waiting::SpinThenPark;

/// See the module documentation.
pub type RwBiased = Phased<BiasedReaders>;

/// The policy of [`RwBiased`].
#[derive(Debug)]
pub struct BiasedReaders;

impl Policy for BiasedReaders {
    const ORDER: Order = Order::WritersFirst;
    const IS_BIASED: bool = true;
    type Waiting = SpinThenPark;
}
