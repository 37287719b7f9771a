//! The waits of a thread.

use crate::msg::{Received, RecvBuffer};
use crate::thread::cancel_point::CancellationPoint;
use core::cell::Cell;
use unspin_sys::Errno;

/// The current wait of a thread, and the results of recent waits that a signal handler interrupted. Part of a thread's
/// state.
///
/// A handler may use the thread's waiter record for a wait of its own, and it may never return to the wait that it
/// interrupted. So each wait has a number, and its result is stored under that number.
#[derive(Debug)]
pub(crate) struct Waits {
    last: Cell<u64>,
    current: Cell<u64>,
    /// What the current wait is for.
    pub(super) aim: Cell<WaitTarget>,
    ended: [Cell<(u64, WaitResult)>; DEPTH],
}

/// Number of nested waits (handlers within handlers) whose results are kept until the interrupted call asks. A wait
/// that is nested deeper returns EINTR.
const DEPTH: usize = 8;

/// What a thread waits for. All-zero bytes are the first variant.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum WaitTarget {
    /// A semaphore operation.
    Operation,
    /// Room for a message.
    Room,
    /// A message, which is copied to this destination.
    Message(RecvBuffer),
}

impl WaitTarget {
    pub(super) fn point(self) -> CancellationPoint {
        match self {
            WaitTarget::Operation => CancellationPoint::No,
            WaitTarget::Room | WaitTarget::Message(_) => CancellationPoint::Yes,
        }
    }
}

/// How a wait ended. All-zero bytes are the first variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum WaitResult {
    /// Another thread performed the operation. For a message: what was received.
    Done(Received),
    /// The caller must try again.
    Retry,
    Failed(Errno),
}

/// Whether the buffers of a call still exist when its wait ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallerBuffers {
    Live,
    /// The call was left by a jump, or may have been.
    Gone,
}

impl Waits {
    /// Begins a wait and returns its number. To be called before the operation is queued.
    pub fn begin(&self, aim: WaitTarget) -> u64 {
        self.last.set(self.last.get() + 1);
        self.aim.set(aim);
        self.current.set(self.last.get());
        self.last.get()
    }

    /// Later waits get numbers above this one.
    pub fn number_from(&self, number: u64) {
        self.last.set(number);
    }

    /// Whether no wait has begun since this one.
    pub fn is_last(&self, number: u64) -> bool {
        self.last.get() == number
    }

    pub(super) fn is_current(&self, number: u64) -> bool {
        self.current.get() == number
    }

    pub(super) fn note_end(&self, end: WaitResult) {
        let number = self.current.replace(0);
        if number == 0 {
            return; // A handler was here first, between the caller's look and this one.
        }
        // Prefer a slot whose result was read already, which has the number 0. Else take the oldest, whose call was
        // most likely left by a jump.
        let place = self.ended.iter().min_by_key(|place| place.get().0);
        place.into_iter().for_each(|place| place.set((number, end)));
    }

    /// How a wait has ended. Each result can be read once.
    pub(super) fn end_of(&self, number: u64) -> WaitResult {
        match self.ended.iter().find(|place| place.get().0 == number) {
            Some(place) => place.replace((0, WaitResult::Retry)).1,
            None => WaitResult::Failed(Errno::EINTR),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A handler that runs between a grant and the sleeper's look at it may wait any number of times: the grant is not
    /// forgotten.
    #[test]
    fn interrupted_wait_keeps_its_result() {
        // SAFETY: all-zero bytes are what a new record has. They are valid for cells of integers, and for `WaitResult`
        // and `WaitTarget`, whose first variants are zero.
        let waits: Waits = unsafe { core::mem::zeroed() };
        let granted = waits.begin(WaitTarget::Operation);
        waits.note_end(WaitResult::Done(Received::default()));
        for _ in 0..3 * DEPTH {
            let inner = waits.begin(WaitTarget::Operation);
            waits.note_end(WaitResult::Failed(Errno::EAGAIN));
            assert_eq!(waits.end_of(inner), WaitResult::Failed(Errno::EAGAIN));
        }
        // Waits that were left by jumps never read their results.
        for _ in 0..DEPTH - 1 {
            waits.begin(WaitTarget::Operation);
            waits.note_end(WaitResult::Failed(Errno::EINTR));
        }
        assert_eq!(waits.end_of(granted), WaitResult::Done(Received::default()));
        assert_eq!(waits.end_of(granted), WaitResult::Failed(Errno::EINTR), "asked once");
    }
}
