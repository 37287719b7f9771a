//! What a reader and a writer of a connection do, whether threads or tasks run them.
//!
//! Each connection has a reader and a writer on each side, so there are four. Here is what they do with a message; how
//! they wait differs between `threads` and `tasks`.

use crate::queue::Queue;
use crate::room::Outbox;
use std::io::Result;
use std::sync::Arc;

/// One side's use of the messages that come.
pub trait Reader: Send + 'static {
    /// A message has come. The reader waits until the outbox that is returned, if any, is not full.
    fn message(&mut self, frame: &mut [u8]) -> Option<Outbox>;

    /// No more messages come: the other side has closed, or reading has failed. The result decides whether the run has
    /// failed.
    fn end(&mut self, outcome: Result<()>) -> Result<()>;
}

/// One side's source of messages to be sent.
pub trait Writer: Send + 'static {
    /// What causes a message.
    type Item: Send + 'static;

    /// The queue of causes. When it is closed and empty, the sending direction of the connection is closed.
    fn queue(&self) -> Arc<Queue<Self::Item>>;

    /// The message for an item.
    fn frame<'a>(&'a mut self, item: &'a Self::Item) -> &'a [u8];

    /// The message has been written.
    fn note_written(&mut self);

    /// Nothing more is written: the queue has ended, or writing has failed. The result decides whether the run has
    /// failed.
    fn end(&mut self, outcome: Result<()>) -> Result<()>;
}
