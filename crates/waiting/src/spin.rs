//! Waiting for a lock, where the owner has it for a moment only: what is learnt lies in 32 bits of the lock.
//!
//! A lock differs from other waits in two ways: the waiter may know on which CPU the owner is, and each look takes the lock's
//! cache line from the owner for some hundred nanoseconds. So looks become rarer as the wait goes on, and a waiter that saw
//! the lock free and lost it leaves the lock alone for a while: an owner that comes back at once then finds its line where it
//! was.

/// One spell of spinning.
///
/// The memo is the time in ticks that spells took which ended with the lock, on average: a waiter spins for some multiple of
/// it. A spell that ends in sleep makes it less.
#[derive(Debug)]
pub struct Spin {
    memo: u32,
    /// When this spell began.
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
/// Pauses after a free lock was lost to another thread.
const AFTER_LOSS: u32 = 100;
/// Ticks to spin at least, at first, and at most. To sleep and to be woken costs some 20 000 on a virtual machine, a good
/// part of it spent by the waker.
pub const LEAST: u32 = 12_000;
const FIRST: u32 = 20_000;
/// See [`LEAST`].
pub const MOST: u32 = 40_000;
/// How many times the average a waiter spins.
const MULTIPLE: u32 = 4;
/// Ticks between two looks that say that the thread was taken from its CPU: another thread needs it.
const ABSENCE: u64 = 30_000;

/// Whether the owner of a lock can be running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnerCpu {
    /// It is not the waiter's own, or not known.
    Other,
    /// The owner acquired on the CPU on which the waiter runs: unless it has moved, it is not running.
    Own,
}

impl Spin {
    /// A spell begins, or goes on after a sleep.
    pub fn begin(memo: u32, now: u64) -> Spin {
        let memo = if memo == 0 { FIRST / MULTIPLE } else { memo.min(MOST) };
        Spin { memo, began: now, looked: now, looks: 0, pauses: 1 }
    }

    /// For how many ticks it spins.
    pub fn most(&self) -> u64 {
        u64::from((self.memo * MULTIPLE).clamp(LEAST, MOST))
    }

    /// How many pauses to make before the next look; none: it is time to sleep.
    pub fn pauses(&mut self, now: u64, owner: OwnerCpu) -> Option<u32> {
        let is_over = now.wrapping_sub(self.began) > self.most();
        let was_away = now.wrapping_sub(self.looked) > ABSENCE;
        if is_over || was_away || owner == OwnerCpu::Own {
            return None;
        }
        let pauses = self.pauses;
        self.looks += 1;
        if self.looks > EAGER {
            self.pauses = (self.pauses * 2).min(MOST_PAUSES);
        }
        self.looked = now;
        Some(pauses)
    }

    /// The lock was free, and another thread was faster: how many pauses to leave it alone for.
    pub fn lose(&mut self) -> u32 {
        self.pauses = MOST_PAUSES;
        AFTER_LOSS
    }

    /// The memo after a spell that ended in sleep.
    pub fn asleep(&self) -> u32 {
        self.rest().max(LEAST / MULTIPLE)
    }

    /// The memo after a spell that ended with the lock.
    pub fn acquired(&self, now: u64) -> u32 {
        let took = now.wrapping_sub(self.began).min(u64::from(MOST));
        self.rest() + took as u32 / 8
    }

    fn rest(&self) -> u32 {
        self.memo - self.memo / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiter_on_the_owners_cpu_sleeps_at_once() {
        assert_eq!(Spin::begin(0, 1_000).pauses(1_001, OwnerCpu::Own), None);
        assert_eq!(Spin::begin(0, 1_000).pauses(1_001, OwnerCpu::Other), Some(1));
    }

    #[test]
    fn spinning_ends_after_its_time_or_an_absence() {
        let mut spin = Spin::begin(u32::MAX, 0);
        let looks = (0..).map(|n| n * 1_000).take_while(|&now| spin.pauses(now, OwnerCpu::Other).is_some());
        assert_eq!(looks.count() as u64, u64::from(MOST) / 1_000 + 1);
        let mut spin = Spin::begin(u32::MAX, 0);
        assert_eq!(spin.pauses(ABSENCE + 1, OwnerCpu::Other), None);
    }

    #[test]
    fn sleep_makes_spells_shorter_and_never_none() {
        let mut memo = MOST;
        for _ in 0..100 {
            let less = Spin::begin(memo, 0).asleep();
            assert!(less <= memo);
            memo = less;
        }
        assert_eq!(Spin::begin(memo, 0).most(), u64::from(LEAST));
        assert!(Spin::begin(memo, 0).acquired(u64::from(MOST)) > memo);
    }
}
