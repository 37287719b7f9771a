//! Messages.

use core::fmt;

/// A message with the memory for its text. A received message can be sent on, and its memory can be reused.
#[derive(Clone)]
pub struct Message {
    mtype: i64,
    /// The memory for the text; its length is the capacity.
    memory: Vec<u8>,
    len: usize,
}

impl Message {
    /// A message with this type and text. To be sent, its type must be above zero.
    pub fn new(mtype: i64, text: &[u8]) -> Message {
        Message { mtype, memory: text.to_vec(), len: text.len() }
    }

    /// An empty message with room for a text of this many bytes. A received text must fit.
    pub fn with_capacity(bytes: usize) -> Message {
        Message { mtype: 0, memory: vec![0; bytes], len: 0 }
    }

    /// Replaces type and text. The memory is reused, and grows if necessary.
    pub fn set(&mut self, mtype: i64, text: &[u8]) {
        if text.len() > self.memory.len() {
            self.memory.resize(text.len(), 0);
        }
        self.memory[..text.len()].copy_from_slice(text);
        (self.mtype, self.len) = (mtype, text.len());
    }

    /// The message's type.
    pub fn mtype(&self) -> i64 {
        self.mtype
    }

    /// The message's text.
    pub fn text(&self) -> &[u8] {
        &self.memory[..self.len]
    }

    /// Longest text in bytes that it has room for.
    pub fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// Calls `fill`, which writes a text into the memory and returns its type and length. If it fails, the message is
    /// empty.
    pub(super) fn fill<E>(
        &mut self,
        fill: impl FnOnce(&mut [u8]) -> Result<(i64, usize), E>,
    ) -> Result<(), E> {
        (self.mtype, self.len) = (0, 0);
        (self.mtype, self.len) = fill(&mut self.memory)?;
        Ok(())
    }
}

/// Compares types and texts, not the memory behind them.
impl PartialEq for Message {
    fn eq(&self, other: &Message) -> bool {
        self.mtype() == other.mtype() && self.text() == other.text()
    }
}

impl Eq for Message {}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message").field("kind", &self.mtype()).field("text", &self.text()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_blocks_are_reused_and_heap_grows() {
        let mut message = Message::new(7, b"twelve bytes");
        assert_eq!((message.mtype(), message.text(), message.capacity()), (7, &b"twelve bytes"[..], 12));
        message.set(8, b"six...");
        assert_eq!((message.mtype(), message.text(), message.capacity()), (8, &b"six..."[..], 12));
        assert_eq!(message, Message::new(8, b"six..."));
        assert_ne!(message, Message::new(9, b"six..."));
        message.set(9, &[1; 17]);
        assert_eq!((message.mtype(), message.text(), message.capacity()), (9, &[1; 17][..], 17));
    }

    #[test]
    fn failed_fill_leaves_message_empty() {
        let mut message = Message::new(3, b"before");
        assert_eq!(message.fill(|room| Ok::<_, ()>((5, room.len() - 1))), Ok(()));
        assert_eq!(message, Message::new(5, b"befor"));
        assert_eq!(message.fill(|_| Err(())), Err(()));
        assert_eq!(message, Message::new(0, b""));
    }
}
