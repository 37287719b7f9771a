//! Writers first: while a writer waits, readers that come wait too. A writer that finds the lock free takes it. When the last
//! writer has left, all readers that wait enter together: one phase. After a long wait readers get a phase although writers
//! wait, and a writer is handed the lock although others would take it earlier.

use super::order::{Order, Policy};
use super::phased::Phased;
use crate::waiting::SpinThenPark;

/// See the module documentation.
pub type RwWriter = Phased<WritersFirst>;

/// The policy of [`RwWriter`].
#[derive(Debug)]
pub struct WritersFirst;

impl Policy for WritersFirst {
    const ORDER: Order = Order::WritersFirst;
    const IS_BIASED: bool = false;
    type Waiting = SpinThenPark;
}
