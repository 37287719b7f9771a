//! Clocks: nanoseconds for reports, seconds for `sem_otime`, ticks where reading must be cheap.

use core::arch::x86_64::_rdtsc;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::OnceLock;
use std::time::Duration;

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of `CLOCK_REALTIME`.
pub fn realtime_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// CPU time of the calling thread in nanoseconds. A system call, unlike the other clocks here.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `ts` is a live timespec; the vDSO writes nothing else, and these clocks always exist.
    unsafe { libc::clock_gettime(clock, &mut ts) };
    ts.tv_sec as u64 * 1_000_000_000 + ts.tv_nsec as u64
}

/// Whole seconds since the epoch, as the kernel writes them into `sem_otime` (`ktime_get_real_seconds`).
///
/// glibc binds `time` to the vDSO's function, which reads one word without a sequence lock. It is the cheapest clock,
/// and has exactly the resolution of `sem_otime`, one second.
#[inline(always)]
pub fn realtime_seconds() -> i64 {
    // SAFETY: with a null argument it only returns the value.
    unsafe { libc::time(core::ptr::null_mut()) }
}

/// Seconds since the epoch, and the nanoseconds of the kernel's last timer tick (`CLOCK_REALTIME_COARSE`). Two equal
/// results are at most one tick apart, 1 to 10 ms.
#[inline]
pub fn realtime_tick() -> (i64, i64) {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `ts` is a live timespec; the clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &mut ts) };
    (ts.tv_sec, ts.tv_nsec)
}

/// Nanoseconds of `CLOCK_MONOTONIC` at the kernel's last timer tick (`CLOCK_MONOTONIC_COARSE`): 1 to 10 ms old, and
/// cheaper than a reading of the time-stamp counter.
#[inline]
pub fn monotonic_tick_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC_COARSE)
}

/// The time-stamp counter. Not ordered with neighbouring instructions, which is harmless at the scale of lock waits.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 CPU has the instruction, and Linux permits it in user mode.
    unsafe { _rdtsc() }
}

/// Ticks per second, measured once per process against `CLOCK_MONOTONIC` over 2 ms.
///
/// The error of this short calibration is below 0.1 %, far below the noise of any hold time.
pub fn ticks_per_second() -> u64 {
    static RATE: OnceLock<u64> = OnceLock::new();
    *RATE.get_or_init(|| {
        let start = Moment::now();
        std::thread::sleep(Duration::from_millis(2));
        at_rate(1_000_000_000, start.rate_until(&Moment::now()))
    })
}

/// This many nanoseconds in ticks of [`ticks`]; at least one tick. The error of the rate is a few percent.
///
/// It costs one load and one multiplication. Any code may call it: signal handlers, constructors, children after a fork.
/// The first call in a process measures the counter's rate, which takes some 6 µs: see [`prepare`].
#[inline]
pub fn ticks_in(ns: u64) -> u64 {
    // Relaxed: the number guards no other data.
    let rate = match RATE.load(Relaxed) {
        0 => measure_rate(),
        known => known,
    };
    at_rate(ns, rate)
}

/// Measures the counter's rate now, unless it is known: for a caller that must not lose time later, or must not make a
/// system call later. (`CLOCK_MONOTONIC` is a system call where the kernel uses another counter than this one.)
pub fn prepare() {
    ticks_in(1);
}

/// Ticks in 2^32 ns. 0: not measured yet. Of threads that measure at the same time the first stores its result, and all use
/// it. A child after a fork inherits it.
static RATE: AtomicU64 = AtomicU64::new(0);

/// Rates that a processor can have, in ticks in 2^32 ns: from 10 MHz to 100 GHz.
const PLAUSIBLE: core::ops::RangeInclusive<u64> = (1 << 32) / 100..=(1 << 32) * 100;

/// The time over which [`ticks_in`] measures the rate, without sleep.
const MEASURED_NS: u64 = 5_000;

#[cold]
fn measure_rate() -> u64 {
    let start = Moment::now();
    while monotonic_ns() - start.ns < MEASURED_NS {}
    let rate = start.rate_until(&Moment::now());
    // Relaxed (both): see `ticks_in`.
    RATE.compare_exchange(0, rate, Relaxed, Relaxed).err().unwrap_or(rate)
}

/// `ns` in ticks, at a rate in ticks in 2^32 ns.
#[inline]
const fn at_rate(ns: u64, rate: u64) -> u64 {
    let ticks = ((ns as u128 * rate as u128) >> 32) as u64;
    if ticks == 0 { 1 } else { ticks }
}

/// One moment on both clocks.
struct Moment {
    ns: u64,
    ticks: u64,
}

impl Moment {
    /// Reads the counter before and after the clock. Of some attempts it takes the one with the shortest time between: a
    /// thread that loses its CPU between the two clocks would read moments that are milliseconds apart.
    fn now() -> Moment {
        let attempt = || {
            let before = ticks();
            let ns = monotonic_ns();
            let between = ticks().wrapping_sub(before);
            (between, Moment { ns, ticks: before.wrapping_add(between / 2) })
        };
        let mut best = attempt();
        for _ in 0..4 {
            let next = attempt();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }

    /// Ticks in 2^32 ns. A tick a nanosecond if what was measured is no processor's rate: the counters of two CPUs may
    /// differ, and the thread may have moved.
    fn rate_until(&self, end: &Moment) -> u64 {
        let ticks = end.ticks.wrapping_sub(self.ticks) as u128;
        let ns = end.ns.saturating_sub(self.ns).max(1) as u128;
        u64::try_from((ticks << 32) / ns).ok().filter(|rate| PLAUSIBLE.contains(rate)).unwrap_or(1 << 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_that_goes_back_or_stands_counts_as_a_tick_a_nanosecond() {
        let rate =
            |ticks: u64| Moment { ns: 1_000, ticks: 1_000_000 }.rate_until(&Moment { ns: 6_000, ticks });
        assert_eq!(rate(1_012_500), (1 << 32) / 2 * 5);
        assert_eq!([1_000_000, 999_000].map(rate), [1 << 32; 2]);
    }

    #[test]
    fn short_times_are_no_less_than_a_tick_at_any_rate() {
        let per_us = |ticks: u64| (ticks << 32) / 1_000;
        assert_eq!([1, 40, 999].map(|ns| at_rate(ns, per_us(25))), [1, 1, 24]);
        assert_eq!([1, 400, 3_000_000].map(|ns| at_rate(ns, per_us(2_596))), [2, 1_038, 7_787_999]);
        assert_eq!(at_rate(u64::MAX, 1 << 32), u64::MAX);
    }

    #[test]
    fn rate_is_that_of_the_two_moments() {
        let start = Moment { ns: 1_000, ticks: u64::MAX - 99 };
        assert_eq!(start.rate_until(&Moment { ns: 2_000, ticks: 2_400 }), (2_500 << 32) / 1_000);
        let still = start.rate_until(&Moment { ns: 1_000, ticks: u64::MAX - 99 });
        assert_eq!(still, 1 << 32, "both stand still: a tick a nanosecond");
    }

    #[test]
    fn measured_rate_is_kept() {
        prepare();
        let known = RATE.load(Relaxed);
        assert!(known != 0);
        ticks_in(1_000_000);
        assert_eq!(RATE.load(Relaxed), known);
    }
}
