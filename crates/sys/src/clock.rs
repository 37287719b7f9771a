//! Clocks: nanoseconds for reports, seconds for `sem_otime`, ticks for what must be cheap.

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

fn read(clock: libc::clockid_t) -> u64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `ts` is a live timespec; the vDSO writes nothing else, and these clocks always exist.
    unsafe { libc::clock_gettime(clock, &mut ts) };
    ts.tv_sec as u64 * 1_000_000_000 + ts.tv_nsec as u64
}

/// Whole seconds since the epoch, as the kernel writes them into `sem_otime` (`ktime_get_real_seconds`).
///
/// glibc binds `time` to the vDSO's, which reads one word and takes no sequence lock: the cheapest clock
/// there is, and exactly the one second resolution that `sem_otime` has.
#[inline(always)]
pub fn realtime_seconds() -> i64 {
    // SAFETY: a null argument asks for the return value only.
    unsafe { libc::time(core::ptr::null_mut()) }
}

/// The time-stamp counter. Unordered with its neighbours: at the scale of lock waits that is harmless.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 has the instruction, and Linux leaves it open to user code.
    unsafe { _rdtsc() }
}

/// Ticks per second, measured once per process against `CLOCK_MONOTONIC` over 2 ms.
///
/// The error of such a short calibration is below 0.1 %, far under the noise of any hold time.
pub fn ticks_per_second() -> u64 {
    static RATE: OnceLock<u64> = OnceLock::new();
    *RATE.get_or_init(|| {
        let (ns, t) = (monotonic_ns(), ticks());
        std::thread::sleep(Duration::from_millis(2));
        let (ns, t) = (monotonic_ns() - ns, ticks().wrapping_sub(t));
        (t as u128 * 1_000_000_000 / ns.max(1) as u128) as u64
    })
}
