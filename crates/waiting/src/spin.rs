//! Adaptive spinning for a lock that its owner holds for a short time. The lock stores what was learnt in 32 bits.
//!
//! A lock differs from other waits in two ways. The waiter may know on which CPU the owner runs. And each check takes
//! the lock's cache line from the owner for some hundred nanoseconds. So the waiter checks less and less often. A
//! waiter that saw the lock free but lost it to another thread does not touch the lock for a while: if the owner comes
//! back at once, its cache line is still there.

/// One period of spinning.
///
/// The memo is the average time, in ticks, of periods that ended with the lock. A waiter spins for a multiple of it. A
/// period that ends in sleep reduces it.
#[derive(Debug)]
pub struct Spin {
    memo: u32,
    /// Ticks at which this period began.
    began: u64,
    /// Ticks of the last check.
    looked: u64,
    /// Number of checks so far.
    looks: u32,
    /// Number of pause instructions before the next check.
    pauses: u32,
}

/// Number of checks with one pause between them; after that the pauses double. An owner that holds the lock for the
/// time of a few cache misses has released it by then.
const EAGER: u32 = 8;
/// Maximum number of pauses between two checks: about a microsecond where a pause takes 40 ticks or more (x86-64 since
/// 2017).
const MOST_PAUSES: u32 = 64;
/// Number of pauses after another thread has acquired a lock that this thread saw free.
const AFTER_LOSS: u32 = 100;
/// Ticks to spin: minimum, initial value, and maximum. Sleeping and being woken costs some 20 000 on a virtual machine.
/// The waker pays a good part of that.
pub const LEAST: u32 = 12_000;
const FIRST: u32 = 20_000;
/// See [`LEAST`].
pub const MOST: u32 = 40_000;
/// A waiter spins for this multiple of the average.
const MULTIPLE: u32 = 4;
/// Ticks between two checks that indicate that the thread was descheduled: another thread needs the CPU.
const ABSENCE: u64 = 30_000;

/// Whether the owner of a lock can be running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnerCpu {
    /// The owner's CPU is not the waiter's own, or is unknown.
    Other,
    /// The owner acquired the lock on the waiter's CPU. Unless it has migrated, it is not running.
    Own,
}

impl Spin {
    /// Begins a period of spinning, also after a sleep.
    pub fn begin(memo: u32, now: u64) -> Spin {
        let memo = if memo == 0 { FIRST / MULTIPLE } else { memo.min(MOST) };
        Spin { memo, began: now, looked: now, looks: 0, pauses: 1 }
    }

    /// Maximum duration of this period, in ticks.
    pub fn most(&self) -> u64 {
        u64::from((self.memo * MULTIPLE).clamp(LEAST, MOST))
    }

    /// Number of pauses to make before the next check; `None`: it is time to sleep.
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

    /// Reports that the lock was free but another thread acquired it first. Returns the number of pauses before the
    /// next check.
    pub fn lose(&mut self) -> u32 {
        self.pauses = MOST_PAUSES;
        AFTER_LOSS
    }

    /// The new memo after a period that ended in sleep.
    pub fn asleep(&self) -> u32 {
        self.rest().max(LEAST / MULTIPLE)
    }

    /// The new memo after a period that ended with the lock.
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
