//! How a waiter spends its time, separate from the lock algorithm.

use crate::host;
use unspin_sync::hint;
use unspin_waiting::spin::{OwnerCpu, SpinPeriod};

/// One thread's wait for a lock.
///
/// What waits have learnt is kept in the lock, in a *memo* of 32 bits that is 0 at first. The memo is a hint: threads
/// may lose or tear it, so every value must be harmless.
pub trait SpinPolicy: Send + Sync + 'static {
    /// Starts a wait, or continues it after a sleep.
    fn begin(memo: u32) -> Self;

    /// Lets some time pass and returns the next step. `owner` is 1 plus the number of the CPU on which the owner
    /// acquired the lock; 0 if unknown.
    fn pause(&mut self, owner: u32) -> SpinStep;

    /// The lock was free, but another thread acquired it first.
    fn lost_race(&mut self);

    /// The wait is over, or the thread goes to sleep: returns the new memo.
    fn end(&self, how: SpinEnd) -> u32;
}

/// How a spinning phase ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpinEnd {
    /// The lock was acquired.
    Acquired,
    /// The thread goes to sleep.
    Asleep,
}

/// The next step of a waiter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpinStep {
    /// Read the lock again.
    Recheck,
    /// Sleep until a wake-up.
    Sleep,
}

/// Policy: sleep at once.
#[derive(Debug)]
pub struct Park;

impl SpinPolicy for Park {
    fn begin(_: u32) -> Park {
        Park
    }

    fn pause(&mut self, _: u32) -> SpinStep {
        SpinStep::Sleep
    }

    fn lost_race(&mut self) {}

    fn end(&self, _: SpinEnd) -> u32 {
        0
    }
}

/// Policy: spin adaptively, then sleep; sleep at once if the owner cannot be running. See [`unspin_waiting::spin`].
#[derive(Debug)]
pub struct SpinThenPark(SpinPeriod);

fn pause_for(pauses: u32) {
    for _ in 0..pauses {
        hint::spin_loop();
    }
}

impl SpinPolicy for SpinThenPark {
    fn begin(memo: u32) -> SpinThenPark {
        SpinThenPark(SpinPeriod::begin(memo, host::ticks()))
    }

    fn pause(&mut self, owner: u32) -> SpinStep {
        let is_own = owner != 0 && owner == host::cpu();
        let owner = if is_own { OwnerCpu::Own } else { OwnerCpu::Other };
        let Some(pauses) = self.0.pauses(host::ticks(), owner) else { return SpinStep::Sleep };
        pause_for(pauses);
        SpinStep::Recheck
    }

    fn lost_race(&mut self) {
        pause_for(self.0.lost_race());
    }

    fn end(&self, how: SpinEnd) -> u32 {
        match how {
            SpinEnd::Asleep => self.0.memo_after_sleep(),
            SpinEnd::Acquired => self.0.memo_after_acquisition(host::ticks()),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn waiter_parks_at_once_if_the_owner_cannot_run() {
        unspin_sys::cpu::prepare();
        // The thread may migrate between the two reads of its CPU.
        let parks = |owner: &dyn Fn() -> u32| SpinThenPark::begin(0).pause(owner()) == SpinStep::Sleep;
        if host::cpu() == 0 {
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: no restartable sequences here (glibc 2.35, Linux 4.18)"
            );
            return;
        }
        assert!((0..1_000).any(|_| parks(&host::cpu)));
        assert!((0..1_000).any(|_| !parks(&|| 0)));
    }
}
