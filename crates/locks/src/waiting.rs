//! How a waiter spends its time, separate from the lock algorithm.

use crate::host;
use unspin_sync::hint;
use unspin_waiting::spin::{OwnerCpu, Spin};

/// One thread's wait for a lock.
///
/// What waits have learnt is kept in the lock, in a *memo* of 32 bits that is 0 at first. The memo is a hint: threads
/// may lose or tear it, so every value must be harmless.
pub trait Waiting: Send + Sync + 'static {
    /// Starts a wait, or continues it after a sleep.
    fn begin(memo: u32) -> Self;

    /// Lets some time pass and returns the next step. `owner` is 1 plus the number of the CPU on which the owner
    /// acquired the lock; 0 if unknown.
    fn pause(&mut self, owner: u32) -> Next;

    /// The lock was free, but another thread acquired it first.
    fn lose(&mut self);

    /// The wait is over, or the thread goes to sleep: returns the new memo.
    fn end(&self, how: Ended) -> u32;
}

/// How a spinning phase ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The lock was acquired.
    Acquired,
    /// The thread goes to sleep.
    Asleep,
}

/// The next step of a waiter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Read the lock again.
    Look,
    /// Sleep until a wake-up.
    Sleep,
}

/// Policy: sleep at once.
#[derive(Debug)]
pub struct Park;

impl Waiting for Park {
    fn begin(_: u32) -> Park {
        Park
    }

    fn pause(&mut self, _: u32) -> Next {
        Next::Sleep
    }

    fn lose(&mut self) {}

    fn end(&self, _: Ended) -> u32 {
        0
    }
}

/// Policy: spin adaptively, then sleep; sleep at once if the owner cannot be running. See [`unspin_waiting::spin`].
#[derive(Debug)]
pub struct SpinThenPark(Spin);

fn pause_for(pauses: u32) {
    for _ in 0..pauses {
        hint::spin_loop();
    }
}

impl Waiting for SpinThenPark {
    fn begin(memo: u32) -> SpinThenPark {
        SpinThenPark(Spin::begin(memo, host::ticks()))
    }

    fn pause(&mut self, owner: u32) -> Next {
        let is_own = owner != 0 && owner == host::cpu();
        let owner = if is_own { OwnerCpu::Own } else { OwnerCpu::Other };
        let Some(pauses) = self.0.pauses(host::ticks(), owner) else { return Next::Sleep };
        pause_for(pauses);
        Next::Look
    }

    fn lose(&mut self) {
        pause_for(self.0.lose());
    }

    fn end(&self, how: Ended) -> u32 {
        match how {
            Ended::Asleep => self.0.asleep(),
            Ended::Acquired => self.0.acquired(host::ticks()),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn it_parks_at_once_where_the_owner_cannot_run() {
        unspin_sys::cpu::prepare();
        // The thread may migrate between the two reads of its CPU.
        let parks = |owner: &dyn Fn() -> u32| SpinThenPark::begin(0).pause(owner()) == Next::Sleep;
        if host::cpu() == 0 {
            return println!("SKIPPED: no restartable sequences here (glibc 2.35, Linux 4.18)");
        }
        assert!((0..1_000).any(|_| parks(&host::cpu)));
        assert!((0..1_000).any(|_| !parks(&|| 0)));
    }
}
