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

/// A time in seconds since the epoch, formatted as by ctime(3) in the time zone of the environment (tzset(3)), without
/// the newline: `Thu Jan  1 00:00:00 1970`. `None` for a year that ctime cannot format.
pub fn local_text(seconds: i64) -> Option<String> {
    // SAFETY: 1. a zeroed tm is valid; 2. both functions write only their arguments, asctime at most 26 bytes with the
    // final zero;
    // 3. the environment is read as std reads it: it must not be changed while other threads run.
    let text = unsafe {
        let mut broken_down: libc::tm = core::mem::zeroed();
        if libc::localtime_r(&seconds, &mut broken_down).is_null() {
            return None;
        }
        let mut buffer = [0u8; 64];
        if libc::asctime_r(&broken_down, buffer.as_mut_ptr().cast()).is_null() {
            return None;
        }
        core::ffi::CStr::from_bytes_until_nul(&buffer).ok()?.to_str().ok()?.to_owned()
    };
    Some(text.trim_end().to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_text_equals_ctime() {
        // Noon, so that it is the same day in all but the most distant time zones.
        let text = local_text(1_000_036_800).unwrap();
        assert!(text.starts_with("Sun Sep  9 ") || text.starts_with("Mon Sep 10 "), "{text}");
        assert!(text.ends_with(" 2001") && text.len() == 24, "{text}");
        assert_eq!(local_text(i64::MAX), None);
    }
}
