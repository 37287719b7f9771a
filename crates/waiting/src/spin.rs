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
pub struct SpinPeriod {
    memo: u32,
    /// Ticks at which this period began.
    began: u64,
    /// Ticks of the last check.
    last_check: u64,
    /// Number of checks so far.
    checks: u32,
    /// Number of pause instructions before the next check.
    pauses: u32,
}

/// Number of checks with one pause between them; after that the pauses double. An owner that holds the lock for the
/// time of a few cache misses has released it by then.
const EAGER: u32 = 8;
/// Maximum number of pauses between two checks: about a microsecond where a pause takes 40 ticks or more (x86-64 since
/// 2017).
const MAX_PAUSES: u32 = 64;
/// Number of pauses after another thread has acquired a lock that this thread saw free.
const AFTER_LOSS: u32 = 100;
/// Ticks to spin: minimum, initial value, and maximum. Sleeping and being woken costs some 20 000 on a virtual machine.
/// The waker pays a good part of that.
pub const MIN_TICKS: u32 = 12_000;
const INITIAL_TICKS: u32 = 20_000;
/// See [`MIN_TICKS`].
pub const MAX_TICKS: u32 = 40_000;
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

impl SpinPeriod {
    /// Begins a period of spinning, also after a sleep.
    pub fn begin(memo: u32, now: u64) -> SpinPeriod {
        let memo = if memo == 0 { INITIAL_TICKS / MULTIPLE } else { memo.min(MAX_TICKS) };
        SpinPeriod { memo, began: now, last_check: now, checks: 0, pauses: 1 }
    }

    /// Maximum duration of this period, in ticks.
    pub fn max_ticks(&self) -> u64 {
        u64::from((self.memo * MULTIPLE).clamp(MIN_TICKS, MAX_TICKS))
    }

    /// Number of pauses to make before the next check; `None`: it is time to sleep.
    pub fn pauses(&mut self, now: u64, owner: OwnerCpu) -> Option<u32> {
        let is_over = now.wrapping_sub(self.began) > self.max_ticks();
        let was_away = now.wrapping_sub(self.last_check) > ABSENCE;
        if is_over || was_away || owner == OwnerCpu::Own {
            return None;
        }
        let pauses = self.pauses;
        self.checks += 1;
        if self.checks > EAGER {
            self.pauses = (self.pauses * 2).min(MAX_PAUSES);
        }
        self.last_check = now;
        Some(pauses)
    }

    /// Reports that the lock was free but another thread acquired it first. Returns the number of pauses before the
    /// next check.
    pub fn lost_race(&mut self) -> u32 {
        self.pauses = MAX_PAUSES;
        AFTER_LOSS
    }

    /// The new memo after a period that ended in sleep.
    pub fn memo_after_sleep(&self) -> u32 {
        self.decayed_memo().max(MIN_TICKS / MULTIPLE)
    }

    /// The new memo after a period that ended with the lock.
    pub fn memo_after_acquisition(&self, now: u64) -> u32 {
        let took = now.wrapping_sub(self.began).min(u64::from(MAX_TICKS));
        self.decayed_memo() + took as u32 / 8
    }

    fn decayed_memo(&self) -> u32 {
        self.memo - self.memo / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiter_on_the_owners_cpu_sleeps_at_once() {
        assert_eq!(SpinPeriod::begin(0, 1_000).pauses(1_001, OwnerCpu::Own), None);
        assert_eq!(SpinPeriod::begin(0, 1_000).pauses(1_001, OwnerCpu::Other), Some(1));
    }

    #[test]
    fn spinning_ends_after_the_maximum_or_a_preemption() {
        let mut spin = SpinPeriod::begin(u32::MAX, 0);
        let checks = (0..).map(|n| n * 1_000).take_while(|&now| spin.pauses(now, OwnerCpu::Other).is_some());
        assert_eq!(checks.count() as u64, u64::from(MAX_TICKS) / 1_000 + 1);
        let mut spin = SpinPeriod::begin(u32::MAX, 0);
        assert_eq!(spin.pauses(ABSENCE + 1, OwnerCpu::Other), None);
    }

    #[test]
    fn sleeps_shorten_spinning_down_to_the_minimum() {
        let mut memo = MAX_TICKS;
        for _ in 0..100 {
            let less = SpinPeriod::begin(memo, 0).memo_after_sleep();
            assert!(less <= memo);
            memo = less;
        }
        assert_eq!(SpinPeriod::begin(memo, 0).max_ticks(), u64::from(MIN_TICKS));
        assert!(SpinPeriod::begin(memo, 0).memo_after_acquisition(u64::from(MAX_TICKS)) > memo);
    }
}
