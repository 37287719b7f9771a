//! The part of a lens that reads the kernel's events.

use crate::observed::Sink;
use unspin_launch::error::Error;
use unspin_trace::Event;

/// Adds up the events of a lens.
pub trait Collector: Sink + Sized {
    /// Whether the report has names of the kernel's functions or locks.
    const HAS_KERNEL_NAMES: bool;

    /// A collector, and the events that it needs. [`note`](Sink::note) gets them numbered from 0.
    fn with_events() -> Result<(Self, Vec<Event>), Error>;

    /// Takes the sums since the last call, as a collector of their own. What goes on is divided at this time, which is in
    /// nanoseconds of CLOCK_MONOTONIC.
    fn drain(&mut self, now: u64) -> Self;

    /// Adds what was drained earlier.
    fn absorb(&mut self, earlier: &Self);

    /// Keeps the longest waits with their times, besides adding them up. Call it before the first record.
    fn keep_waits(&mut self);
}
