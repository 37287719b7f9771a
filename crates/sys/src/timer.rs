//! A descriptor that becomes readable after a time.

use crate::{Errno, raw};
use core::ptr::null;
use core::time::Duration;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A timerfd_create(2) of `CLOCK_MONOTONIC`, the clock of [`Instant`](std::time::Instant).
#[derive(Debug)]
pub struct TimerFd(OwnedFd);

impl TimerFd {
    /// A timer that is not set.
    pub fn new() -> Result<TimerFd, Errno> {
        let arguments = [libc::CLOCK_MONOTONIC as usize, (libc::TFD_CLOEXEC | libc::TFD_NONBLOCK) as usize];
        // SAFETY: no pointers.
        let descriptor = unsafe { raw::call(libc::SYS_timerfd_create, arguments) }?;
        // SAFETY: the kernel has just opened the descriptor, and only this call knows it.
        Ok(TimerFd(unsafe { OwnedFd::from_raw_fd(descriptor as i32) }))
    }

    /// Lets it expire once, after this time; that it has expired before is forgotten. A time that is too long for the kernel
    /// is shortened.
    pub fn set(&self, time: Duration) {
        // A time of 0 would disarm it.
        let time = time.clamp(Duration::from_nanos(1), LONGEST);
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = libc::timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        let setting = libc::itimerspec { it_interval: zero, it_value: value };
        let arguments = [self.0.as_raw_fd() as usize, 0, &raw const setting as usize, null::<u8>() as usize];
        // SAFETY: a live itimerspec, which the kernel reads; it writes nothing.
        let set = unsafe { raw::call(libc::SYS_timerfd_settime, arguments) };
        debug_assert!(set.is_ok(), "timerfd_settime: {set:?}");
    }
}

/// A century: the kernel's clocks reach further.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl AsRawFd for TimerFd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn expirations(timer: &TimerFd) -> Option<u64> {
        let mut count = [0; 8];
        let file = std::fs::File::from(timer.0.try_clone().unwrap());
        (&file).read(&mut count).ok().map(|_| u64::from_ne_bytes(count))
    }

    #[test]
    fn timer_expires_once_and_not_before_its_time() {
        let timer = TimerFd::new().unwrap();
        assert_eq!(expirations(&timer), None, "it is not set");
        timer.set(Duration::MAX);
        assert_eq!(expirations(&timer), None, "its time is far");
        timer.set(Duration::ZERO);
        while expirations(&timer).is_none() {
            std::thread::yield_now();
        }
        assert_eq!(expirations(&timer), None, "it expires once");
    }
}
