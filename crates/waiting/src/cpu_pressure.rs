//! Whether other threads need the CPUs.
//!
//! A poller yields. If it does not run again at once, another thread needed its CPU. The poller reports that here, and
//! all pollers that share this word stop polling for sixteen times as long as that thread ran. So where there is more
//! work than CPUs, polling costs at most that share of the time. If the next poll meets another such thread, the pause
//! doubles.

use unspin_sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The pause of all pollers, as a multiple of the time for which the CPU was gone.
const TIMES: u64 = 16;
/// The longest pause, in wake-ups: some 50 ms.
const LONGEST_WAKE_UPS: u64 = 1024;

/// Lies in memory that the processes of one program share. All zero: no pressure.
///
/// Relaxed throughout: this is advice. Losing or delaying it costs a few microseconds.
#[derive(Debug, Default)]
#[repr(C)]
pub struct CpuPressure {
    /// Time, in ticks, until which no thread polls.
    until: AtomicU64,
    /// Length of the latest pause, in ticks.
    pause: AtomicU64,
}

impl CpuPressure {
    /// No pressure.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> CpuPressure {
        CpuPressure { until: AtomicU64::new(0), pause: AtomicU64::new(0) }
    }

    /// Whether pollers must not poll at this time.
    #[inline]
    pub fn is_high(&self, now: u64) -> bool {
        self.until.load(Relaxed) > now
    }

    /// Reports that a thread that needed the CPU took it from a poller for `gone` ticks, until `now`.
    pub fn report(&self, gone: u64, now: u64, wake_up: u64) {
        let (until, before) = (self.until.load(Relaxed), self.pause.load(Relaxed));
        if until > now {
            return;
        }
        let is_again = until != 0 && now - until < 4 * before;
        let pause = (TIMES * gone).max(if is_again { 2 * before } else { 0 });
        let pause = pause.min(LONGEST_WAKE_UPS * wake_up);
        self.pause.store(pause, Relaxed);
        self.until.store(now + pause, Relaxed);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const WAKE_UP: u64 = 100_000;

    #[test]
    fn pauses_grow_while_the_pressure_stays_and_shrink_when_it_ends() {
        let pressure = CpuPressure::new();
        assert!(!pressure.is_high(1));
        pressure.report(1_000, 10_000, WAKE_UP);
        assert!(pressure.is_high(25_999) && !pressure.is_high(26_000));
        pressure.report(1_000, 27_000, WAKE_UP);
        assert!(pressure.is_high(58_999) && !pressure.is_high(59_000), "the second pause is twice as long");
        pressure.report(1_000, 1_000_000, WAKE_UP);
        assert!(!pressure.is_high(1_016_000), "after a while without pressure it is short again");
    }

    #[test]
    fn pauses_have_a_maximum() {
        let pressure = CpuPressure::new();
        let mut now = 1;
        for _ in 0..40 {
            pressure.report(1 << 40, now, WAKE_UP);
            now += LONGEST_WAKE_UPS * WAKE_UP;
            assert!(!pressure.is_high(now));
        }
    }
}
