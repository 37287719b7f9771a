//! How a waiter spends its time, apart from the algorithm that it waits in.

use crate::host;
use unspin_sync::hint;

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

/// Spins as long as that has paid lately, unless the owner cannot be running, and then sleeps.
///
/// The memo is the time in ticks that spins took which ended with the lock, on average: a waiter spins for some multiple of
/// it. What ended in sleep makes it less.
///
/// Each look takes the lock's cache line from its owner for some hundred nanoseconds, so looks become rarer as the wait goes
/// on. A waiter that saw the lock free and was not fast enough has met an owner that comes back at once: to such an owner
/// the lock is worth most if it is left alone for a while, so that it finds its line where it was.
#[derive(Debug)]
pub struct SpinThenPark {
    memo: u32,
    /// When this spell of spinning began.
    began: u64,
    /// When it last looked.
    looked: u64,
    /// How often it has looked.
    looks: u32,
    /// Pauses until the next look.
    pauses: u32,
}

/// Looks with one pause between them, before the pauses double: an owner that holds the lock for the time of a few cache
/// misses has released it by then.
const EAGER: u32 = 8;
/// Pauses between two looks at most: about a microsecond where a pause takes 40 ticks or more (x86-64 since 2017).
const MOST_PAUSES: u32 = 64;
/// Pauses after a free lock was lost to somebody else.
const AFTER_LOSS: u32 = 100;
/// Ticks to spin at least, at first, and at most. To sleep and to be woken costs some 20 000 on a virtual machine, a good
/// part of it the one who wakes.
const LEAST: u32 = 12_000;
const FIRST: u32 = 20_000;
const MOST: u32 = 40_000;
/// How many times the average a waiter spins.
const MULTIPLE: u32 = 4;
/// Ticks between two looks that say that the thread was taken from its CPU: others need it.
const ABSENCE: u64 = 30_000;

impl SpinThenPark {
    fn most(&self) -> u64 {
        u64::from((self.memo * MULTIPLE).clamp(LEAST, MOST))
    }

    fn pause_for(pauses: u32) {
        for _ in 0..pauses {
            hint::spin_loop();
        }
    }
}

impl Waiting for SpinThenPark {
    fn begin(memo: u32) -> SpinThenPark {
        let memo = if memo == 0 { FIRST / MULTIPLE } else { memo.min(MOST) };
        let now = host::ticks();
        SpinThenPark { memo, began: now, looked: now, looks: 0, pauses: 1 }
    }

    fn pause(&mut self, owner: u32) -> Next {
        let now = host::ticks();
        let is_over = now.wrapping_sub(self.began) > self.most();
        let was_away = now.wrapping_sub(self.looked) > ABSENCE;
        // Who runs where the owner acquired has taken its CPU, unless it has moved.
        let owner_is_off = owner != 0 && owner == host::cpu();
        if is_over || was_away || owner_is_off {
            return Next::Sleep;
        }
        SpinThenPark::pause_for(self.pauses);
        self.looks += 1;
        if self.looks > EAGER {
            self.pauses = (self.pauses * 2).min(MOST_PAUSES);
        }
        self.looked = now;
        Next::Look
    }

    fn lose(&mut self) {
        self.pauses = MOST_PAUSES;
        SpinThenPark::pause_for(AFTER_LOSS);
    }

    fn end(&self, how: Ended) -> u32 {
        let rest = self.memo - self.memo / 8;
        match how {
            Ended::Asleep => rest.max(LEAST / MULTIPLE),
            Ended::Acquired => {
                let took = host::ticks().wrapping_sub(self.began).min(u64::from(MOST));
                rest + took as u32 / 8
            }
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

    #[test]
    fn spinning_ends() {
        let mut waiting = SpinThenPark::begin(u32::MAX);
        while waiting.pause(0) == Next::Look {}
        assert!(waiting.looks > 0 || waiting.most() > 0);
    }

    #[test]
    fn what_ends_in_sleep_is_spun_for_less_and_never_for_nothing() {
        let mut memo = MOST;
        for _ in 0..100 {
            let less = SpinThenPark::begin(memo).end(Ended::Asleep);
            assert!(less <= memo);
            memo = less;
        }
        assert_eq!(SpinThenPark::begin(memo).most(), u64::from(LEAST));
        let slow = SpinThenPark { began: host::ticks() - u64::from(MOST), ..SpinThenPark::begin(memo) };
        assert!(slow.end(Ended::Acquired) > memo);
    }
}
