//! Clocks: nanoseconds for reports, seconds for `sem_otime`, ticks where reading must be cheap.

use core::arch::x86_64::_rdtsc;
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
        let (ns, t) = (monotonic_ns(), ticks());
        std::thread::sleep(Duration::from_millis(2));
        let (ns, t) = (monotonic_ns() - ns, ticks().wrapping_sub(t));
        (t as u128 * 1_000_000_000 / ns.max(1) as u128) as u64
    })
}

/// Ticks per second with an error of some percent, measured in 20 µs of CPU time: for a start-up that must not sleep.
pub fn rough_ticks_per_second() -> u64 {
    let (ns, t) = (monotonic_ns(), ticks());
    while monotonic_ns() - ns < 20_000 {}
    let (ns, t) = (monotonic_ns() - ns, ticks().wrapping_sub(t));
    (t as u128 * 1_000_000_000 / ns.max(1) as u128) as u64
}
