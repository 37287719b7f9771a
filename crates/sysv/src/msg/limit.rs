//! The current limit of a message's length, `kernel.msgmax`.
//!
//! Reading it takes longer than sending a message. So a thread reads it at most once in a tick of the kernel's clock,
//! and once more before it refuses a message.

use core::cell::Cell;
use unspin_sys::limits::MsgLimits;

/// The limit in bytes that a thread has read last, and the tick at which it read it. All-zero bytes: not read yet.
#[derive(Debug)]
pub(crate) struct MsgmaxCache {
    tick: Cell<(i64, i64)>,
    bytes: Cell<u64>,
}

impl MsgmaxCache {
    /// Whether a text of `size` bytes is permitted at this tick.
    #[inline]
    pub fn permits(&self, size: usize, tick: (i64, i64)) -> bool {
        self.tick.get() == tick && size as u64 <= self.bytes.get() || self.read(tick) >= size as u64
    }

    /// The limit in bytes, if it was read at this tick.
    pub fn known_at(&self, tick: (i64, i64)) -> Option<u64> {
        (self.tick.get() == tick).then_some(self.bytes.get())
    }

    /// Reads the limit now, in bytes.
    #[cold]
    pub fn read(&self, tick: (i64, i64)) -> u64 {
        self.bytes.set(MsgLimits::read().message);
        self.tick.set(tick);
        self.bytes.get()
    }
}
