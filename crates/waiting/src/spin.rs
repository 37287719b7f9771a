//! Adaptive spinning for a lock that its owner holds for a short time. The lock stores what was learnt in 32 bits.
//!
//! A lock differs from other waits in two ways. The waiter may know on which CPU the owner runs. And each check takes
//! the lock's cache line from the owner for some hundred nanoseconds. So the waiter checks less and less often. A
//! waiter that saw the lock free but lost it to another thread does not touch the lock for a while: if the owner comes
//! back at once, its cache line is still there.

use crate::host;

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
    limits: SpinLimits,
}

/// The limits of a period, in ticks.
#[derive(Debug)]
struct SpinLimits {
    min: u32,
    max: u32,
    absence: u64,
}

/// Number of checks with one pause between them; after that the pauses double. An owner that holds the lock for the
/// time of a few cache misses has released it by then.
const EAGER: u32 = 8;
/// Maximum number of pauses between two checks: about a microsecond where a pause takes 40 ticks or more (x86-64 since
/// 2017).
const MAX_PAUSES: u32 = 64;
/// Number of pauses after another thread has acquired a lock that this thread saw free.
const AFTER_LOSS: u32 = 100;
/// How long a waiter spins: minimum, at first, and maximum. Sleeping and being woken costs some 8 us on a virtual
/// machine. The waker pays a good part of that.
const MIN_NS: u64 = 4_600;
const INITIAL_NS: u64 = 7_700;
const MAX_NS: u64 = 15_400;
/// A waiter spins for this multiple of the average.
const MULTIPLE: u32 = 4;
/// The time between two checks that indicates that the thread was descheduled: another thread needs the CPU.
const ABSENCE_NS: u64 = 11_500;

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
        let limits =
            SpinLimits { min: ticks_in(MIN_NS), max: ticks_in(MAX_NS), absence: host::ticks_in(ABSENCE_NS) };
        let memo = if memo == 0 { ticks_in(INITIAL_NS).div_ceil(MULTIPLE) } else { memo.min(limits.max) };
        SpinPeriod { memo, began: now, last_check: now, checks: 0, pauses: 1, limits }
    }

    /// Maximum duration of this period, in ticks.
    fn max_ticks(&self) -> u64 {
        u64::from(self.memo.saturating_mul(MULTIPLE).clamp(self.limits.min, self.limits.max))
    }

    /// Number of pauses to make before the next check; `None`: it is time to sleep.
    pub fn pauses(&mut self, now: u64, owner: OwnerCpu) -> Option<u32> {
        let is_over = now.wrapping_sub(self.began) > self.max_ticks();
        let was_away = now.wrapping_sub(self.last_check) > self.limits.absence;
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
        self.decayed_memo().max(self.limits.min.div_ceil(MULTIPLE))
    }

    /// The new memo after a period that ended with the lock.
    pub fn memo_after_acquisition(&self, now: u64) -> u32 {
        let took = now.wrapping_sub(self.began).min(u64::from(self.limits.max));
        self.decayed_memo() + took as u32 / 8
    }

    fn decayed_memo(&self) -> u32 {
        self.memo - self.memo / 8
    }
}

fn ticks_in(ns: u64) -> u32 {
    u32::try_from(host::ticks_in(ns)).unwrap_or(u32::MAX)
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
        let max = host::ticks_in(MAX_NS);
        let step = max.div_ceil(40);
        let mut spin = SpinPeriod::begin(u32::MAX, 0);
        let checks = (0..).map(|n| n * step).take_while(|&now| spin.pauses(now, OwnerCpu::Other).is_some());
        assert_eq!(checks.count() as u64, max / step + 1);
        let mut spin = SpinPeriod::begin(u32::MAX, 0);
        assert_eq!(spin.pauses(host::ticks_in(ABSENCE_NS) + 1, OwnerCpu::Other), None);
    }

    #[test]
    fn sleeps_shorten_spinning_down_to_the_minimum() {
        let mut memo = ticks_in(MAX_NS);
        for _ in 0..100 {
            let less = SpinPeriod::begin(memo, 0).memo_after_sleep();
            assert!(less <= memo);
            memo = less;
        }
        let shortest = SpinPeriod::begin(memo, 0);
        let min = host::ticks_in(MIN_NS);
        assert!((min..min + u64::from(MULTIPLE)).contains(&shortest.max_ticks()));
        assert!(shortest.memo_after_acquisition(host::ticks_in(MAX_NS)) > memo);
    }
}
