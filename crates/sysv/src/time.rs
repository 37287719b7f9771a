//! The clocks of the engine; constant under loom, whose models must not depend on the time of day.

/// Ticks of the time-stamp counter.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    if cfg!(loom) { 0 } else { unspin_sys::clock::ticks() }
}

/// Seconds since the epoch, for `sem_otime` and `sem_ctime`.
#[inline(always)]
pub(crate) fn seconds() -> i64 {
    if cfg!(loom) { 0 } else { unspin_sys::clock::realtime_seconds() }
}
