//! A wait whose time the policy wants to know.

/// A wait whose time the policy asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TimedWait {
    /// It began at this time, in ticks.
    Asleep(u64),
    /// It began at this time, with a poll of so many ticks that found nothing.
    Polled(u64, u64),
}
