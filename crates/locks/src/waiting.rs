//! How a waiter spends its time, apart from the algorithm that it waits in.

use crate::host;
use unspin_sync::hint;

/// One thread's wait for a lock.
///
/// What is learnt lies in the lock, in a *memo* of 32 bits, all zeroes at first. It is advice: it may be lost or torn between
/// threads, and whatever it says must be harmless.
pub trait Waiting: Send + Sync + 'static {
    /// A wait begins, or goes on after a sleep.
    fn begin(memo: u32, role: Role) -> Self;

    /// Lets some time pass and says what to do next. `owner` is the CPU plus one on which the owner acquired, 0 if unknown.
    fn pause(&mut self, owner: u32) -> Next;

    /// The lock was acquired: what the memo should say now.
    fn end(&self) -> u32;
}

/// What a waiter is to the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// One of many.
    Comer,
    /// Woken to be the next: as long as it stays awake nobody else need be woken.
    Heir,
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
    fn begin(_: u32, _: Role) -> Park {
        Park
    }

    fn pause(&mut self, _: u32) -> Next {
        Next::Sleep
    }

    fn end(&self) -> u32 {
        0
    }
}

/// Spins as long as that has paid lately, unless the owner cannot be running, and then sleeps.
#[derive(Debug)]
pub struct SpinThenPark {
    memo: u32,
    role: Role,
    /// When this spell of spinning began.
    began: u64,
    last: u64,
    /// Pauses until the next look.
    pauses: u32,
}

const MAXP: u32 = 256;
/// Ticks.
const MOST: u64 = 20_000;
const MOST_HEIR: u64 = 6_000_000;

impl Waiting for SpinThenPark {
    fn begin(memo: u32, role: Role) -> SpinThenPark {
        SpinThenPark { memo, role, began: host::ticks(), last: host::ticks(), pauses: 1 }
    }

    fn pause(&mut self, owner: u32) -> Next {
        let now = host::ticks();
        let spun = now.wrapping_sub(self.began);
        if owner != 0 && owner == host::cpu() {
            return Next::Sleep;
        }
        let most = if self.role == Role::Comer { MOST } else { MOST_HEIR.min(MOST) };
        if spun > most || now.wrapping_sub(self.last) > 30_000 {
            return Next::Sleep;
        }
        if cfg!(any(loom, shuttle)) && self.pauses > 1 {
            return Next::Sleep;
        }
        for _ in 0..self.pauses {
            hint::spin_loop();
        }
        self.pauses = (self.pauses * 2).min(MAXP);
        self.last = now;
        Next::Look
    }

    fn end(&self) -> u32 {
        self.memo
    }
}
