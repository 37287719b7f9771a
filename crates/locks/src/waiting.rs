//! How a waiter spends its time, apart from the algorithm that it waits in.

use crate::host;
use unspin_sync::hint;

/// One thread's wait for a lock.
///
/// What is learnt lies in the lock, in a *memo* of 32 bits, all zeroes at first. It is advice: it may be lost or torn between
/// threads, and whatever it says must be harmless.
pub trait Waiting: Send + Sync + 'static {
    /// A wait begins.
    fn begin(memo: u32) -> Self;

    /// Lets some time pass and says what to do next. `owner` is the CPU plus one on which the owner acquired, 0 if unknown.
    fn pause(&mut self, owner: u32) -> Next;

    /// The thread has slept, and looks again.
    fn wake(&mut self);

    /// The lock was acquired: what the memo should say now.
    fn end(&self) -> u32;
}

/// What a waiter does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Looks at the lock again.
    Look,
    /// Sleeps until it is woken.
    Sleep,
}

/// Sleeps at once.
#[derive(Debug)]
pub struct Park;

impl Waiting for Park {
    fn begin(_: u32) -> Park {
        Park
    }

    fn pause(&mut self, _: u32) -> Next {
        Next::Sleep
    }

    fn wake(&mut self) {}

    fn end(&self) -> u32 {
        0
    }
}

/// Spins as long as that has paid lately, unless the owner cannot be running, and then sleeps.
#[derive(Debug)]
pub struct SpinThenPark {
    memo: u32,
    /// When this spell of spinning began.
    began: u64,
    /// Pauses until the next look.
    pauses: u32,
}

/// Ticks.
const MOST: u64 = 20_000;
/// Pauses between two looks.
const MOST_PAUSES: u32 = 32;

impl Waiting for SpinThenPark {
    fn begin(memo: u32) -> SpinThenPark {
        SpinThenPark { memo, began: host::ticks(), pauses: 1 }
    }

    fn pause(&mut self, owner: u32) -> Next {
        if owner != 0 && owner == host::cpu() {
            return Next::Sleep;
        }
        if host::ticks().wrapping_sub(self.began) > MOST || cfg!(any(loom, shuttle)) && self.pauses > 1 {
            return Next::Sleep;
        }
        for _ in 0..self.pauses {
            hint::spin_loop();
        }
        self.pauses = (self.pauses * 2).min(MOST_PAUSES);
        Next::Look
    }

    fn wake(&mut self) {
        self.began = host::ticks();
        self.pauses = 1;
    }

    fn end(&self) -> u32 {
        self.memo
    }
}
