//! What a thread does before it sleeps.

use std::fmt;
use unspin_wire::plan::TITLE;

/// The cost of a wake-up, in nanoseconds, that the plan states so that the library does not measure it: that of a
/// virtual machine.
pub const WAKE_UP_NS: u64 = 50_000;

/// How the threads of a program wait behind the preload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitMode {
    /// They sleep at once: the control, which passes through the same hooks.
    System,
    /// They poll first, where the policy says that it pays.
    Poll,
    /// They poll first in every wait, for the full time, whatever the policy has learnt. So chance does not decide
    /// which paths a test takes.
    Forced,
}

impl WaitMode {
    /// All of them.
    pub const ALL: [WaitMode; 3] = [WaitMode::System, WaitMode::Poll, WaitMode::Forced];

    /// The text that `UNSPIN_PLAN` names.
    pub fn plan(self) -> String {
        let lines = match self {
            WaitMode::System => "waits\tsystem\n",
            WaitMode::Poll => "waits\tpoll\n",
            WaitMode::Forced => "waits\tpoll\nforce\tpolls\n",
        };
        format!("{TITLE}\nwakeup\t{WAKE_UP_NS}\n{lines}")
    }
}

impl fmt::Display for WaitMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WaitMode::System => "waits system",
            WaitMode::Poll => "waits poll",
            WaitMode::Forced => "waits poll, forced",
        })
    }
}
