//! The clocks of the engine. They are constant under loom, whose models must not depend on the time.

/// The time-stamp counter, in ticks.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    if cfg!(loom) { 0 } else { unspin_sys::clock::ticks() }
}

/// The time in seconds since the epoch, for `sem_otime` and `sem_ctime`.
#[inline(always)]
pub(crate) fn seconds() -> i64 {
    if cfg!(loom) { 0 } else { unspin_sys::clock::realtime_seconds() }
}
