//! What a worker does for the reactor between two tasks.

use crate::executor::context::Context;
use crate::executor::idling::turn_briefly;
use crate::reactor::{Reactor, take_first_use};
use unspin_sys::clock;

/// Runs of tasks after which a worker looks, however short they are.
const RUNS_MAX: u32 = 61;

/// Decides when a worker looks for events between two tasks: after [`RUNS_MAX`] runs, or after the first run that ends
/// later than an interval after the last look.
pub(crate) struct ReactorCheck {
    /// Runs since the last look.
    runs: u32,
    /// The time of the last look, in ticks.
    checked: u64,
    /// The interval, in ticks.
    interval: u64,
}

impl ReactorCheck {
    /// Looks at intervals of so many ticks.
    pub fn new(interval: u64) -> ReactorCheck {
        ReactorCheck { runs: 0, checked: clock::ticks(), interval }
    }

    /// Looks for events, if it is time. For a worker that has run a task, and has not chosen the next one yet.
    #[inline(always)]
    pub fn after_run(&mut self, context: &Context) {
        // Programs without sockets and timers read no clock.
        if Reactor::get_existing().is_none() {
            return;
        }
        if take_first_use() {
            // The next task may block, and workers that sleep since before the use do not look for events.
            context.shared.pool.sleeper().wake_deputy();
        }
        self.runs += 1;
        let now = clock::ticks();
        // If the counter of this CPU is behind that of the last CPU, the difference is large, and the worker looks.
        if self.runs >= RUNS_MAX || now.wrapping_sub(self.checked) >= self.interval {
            self.runs = 0;
            self.checked = now;
            check();
        }
    }
}

#[cold]
fn check() {
    if let Some(reactor) = Reactor::in_use() {
        turn_briefly(reactor);
    }
}
