//! Biased towards readers: BRAVO (Dice and Kogan, "BRAVO: Biased Locking for Reader-Writer Locks", USENIX ATC 2019) over
//! [`RwWriter`](super::RwWriter). While no writer comes, a reader publishes itself in a slot of a table, and writes to no cache line
//! that other threads write to. A writer *revokes* the bias: it clears it, and waits until no reader is published. The bias
//! returns when some readers were counted: few, if the last one has paid ([`revocation`](super::revocation)).
//!
//! A reader stores its slot and then reads the bias, so one of the two needs a barrier between its store and its load. There are two
//! biases. While writers come, each reader has a *fence*, and a writer one as well. When none has come for a while, readers do
//! without, and the writer calls membarrier(2), which costs it microseconds: then a reader needs no locked instruction.
//!
//! What differs from the paper:
//!
//! - A writer that waits for a slot sleeps after a bounded spin, since readers are preempted. The release of the slot wakes it.
//! - The writer waits for the slots while it is queued, before it has the lock. So a reader that holds another lock can enter,
//!   as [`Recursion::Allowed`](super::Recursion) promises.
//! - Readers overtake a writer that waits. When it has waited for some milliseconds it keeps them out.
//! - The bias returns although a writer waits, if that is awake and will look at the lock: it revokes the bias then.
//! - A release by another thread than the reader's finds the slot in the table.
//! - A writer whose time is over restores the bias, if no other writer waits.
//! - Slots are chosen by thread first ([`slots`](super::slots)).

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
