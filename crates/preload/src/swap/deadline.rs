//! The deadline of a call, as the program passes it.

use core::time::Duration;
use libc::{clockid_t, timespec};
use unspin_locks::{Clock, Until};

/// The deadline of a call.
#[derive(Clone, Copy)]
pub struct Deadline {
    clock: clockid_t,
    until: *const timespec,
}

impl Deadline {
    /// A time of this clock.
    ///
    /// # Safety
    /// `until` is live as long as the value is used with a mutex that is not free, or with any read-write lock.
    #[inline(always)]
    pub unsafe fn new(clock: clockid_t, until: *const timespec) -> Deadline {
        Deadline { clock, until }
    }

    /// [`new`](Self::new), or no deadline for a null pointer: with that libc's functions on read-write locks wait for ever.
    ///
    /// # Safety
    /// As for [`new`](Self::new), unless `until` is null.
    #[inline(always)]
    pub unsafe fn unless_null(clock: clockid_t, until: *const timespec) -> Option<Deadline> {
        // SAFETY: the caller's promise.
        (!until.is_null()).then(|| unsafe { Deadline::new(clock, until) })
    }

    /// The clock, as the program names it.
    #[inline(always)]
    pub fn clock(self) -> clockid_t {
        self.clock
    }

    /// The address of the time, as the program passes it.
    #[inline(always)]
    pub fn until(self) -> *const timespec {
        self.until
    }

    /// The time, for our locks; `None` if it is malformed. Of a mutex to be called only if it is not free.
    pub fn read(self, clock: Clock) -> Option<Until> {
        // SAFETY: `new`'s promise; the callers have found that the mutex is not free, or it is a read-write lock.
        unsafe { time(clock, self.until) }
    }
}

/// The clock for a wait; `None` if waits do not support it.
pub fn clock_of(clock: clockid_t) -> Option<Clock> {
    match clock {
        libc::CLOCK_REALTIME => Some(Clock::Realtime),
        libc::CLOCK_MONOTONIC => Some(Clock::Monotonic),
        _ => None,
    }
}

/// A point in time; `None` if it is malformed. A time before the clock's zero becomes zero: it has passed.
///
/// # Safety
/// `until` points to a live time.
pub unsafe fn time(clock: Clock, until: *const timespec) -> Option<Until> {
    // SAFETY: the caller's promise.
    let timespec { tv_sec, tv_nsec } = unsafe { *until };
    let nanoseconds = u32::try_from(tv_nsec).ok().filter(|&n| n < 1_000_000_000)?;
    let at = u64::try_from(tv_sec).map_or(Duration::ZERO, |seconds| Duration::new(seconds, nanoseconds));
    Some(Until { clock, at })
}
