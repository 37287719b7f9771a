//! How a waiter spends its time, apart from the algorithm that it waits in.

use crate::host;
use unspin_sync::hint;
use unspin_waiting::spin::{OwnerCpu, Spin};

/// One thread's wait for a lock.
///
/// What is learnt lies in the lock, in a *memo* of 32 bits, all zeroes at first. It is advice: it may be lost or torn between
/// threads, and whatever it says must be harmless.
pub trait Waiting: Send + Sync + 'static {
    /// A wait begins, or goes on after a sleep.
    fn begin(memo: u32) -> Self;

    /// Lets some time pass and says what to do next. `owner` is the CPU plus one on which the owner acquired, 0 if unknown.
    fn pause(&mut self, owner: u32) -> Next;

    /// The lock was free, and somebody else was faster.
    fn lose(&mut self);

    /// The wait is over, or goes to sleep: what the memo should say now.
    fn end(&self, how: Ended) -> u32;
}

/// How the time before a sleep, or after one, has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The lock was acquired.
    Acquired,
    /// The thread goes to sleep.
    Asleep,
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

    fn lose(&mut self) {}

    fn end(&self, _: Ended) -> u32 {
        0
    }
}

/// Spins as long as that has paid lately, unless the owner cannot be running, and then sleeps: [`unspin_waiting::spin`].
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
        // The thread may move between the two.
        let parks = |owner: &dyn Fn() -> u32| SpinThenPark::begin(0).pause(owner()) == Next::Sleep;
        if host::cpu() == 0 {
            return println!("SKIPPED: no restartable sequences here (glibc 2.35, Linux 4.18)");
        }
        assert!((0..1_000).any(|_| parks(&host::cpu)));
        assert!((0..1_000).any(|_| !parks(&|| 0)));
    }
}
