//! What a thread does before it sleeps.

use std::fmt;
use unspin_wire::plan::TITLE;

/// The cost of a wake-up that the library is told instead of measuring it, in nanoseconds: a virtual machine's.
pub const WAKE_UP_NS: u64 = 50_000;

/// How the threads of a program wait behind the preload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// They sleep at once: the control, which passes through the same hooks.
    System,
    /// They poll first, where the policy says that it pays.
    Poll,
    /// They poll first in every wait, for the full time, whatever was learnt: so chance does not decide what is tested.
    Forced,
}

impl Waits {
    /// All of them.
    pub const ALL: [Waits; 3] = [Waits::System, Waits::Poll, Waits::Forced];

    /// The text that `UNSPIN_PLAN` names.
    pub fn plan(self) -> String {
        let lines = match self {
            Waits::System => "waits\tsystem\n",
            Waits::Poll => "waits\tpoll\n",
            Waits::Forced => "waits\tpoll\nforce\tpolls\n",
        };
        format!("{TITLE}\nwakeup\t{WAKE_UP_NS}\n{lines}")
    }
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Waits::System => "waits system",
            Waits::Poll => "waits poll",
            Waits::Forced => "waits poll, forced",
        })
    }
}
