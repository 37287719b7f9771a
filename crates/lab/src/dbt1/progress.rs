//! Progress on standard error, where that is a terminal: a status line with the time left.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;
use unspin_dbt1::{Event, Options};

/// The progress of the benchmark.
pub struct Progress {
    /// None if standard error is no terminal.
    bar: Option<ProgressBar>,
    runs: usize,
    whole: Duration,
}

/// Length of the bar in steps.
const STEPS: u64 = 1000;

impl Progress {
    /// Nothing has begun.
    pub fn new(options: &Options) -> Progress {
        let bar = std::io::stderr().is_terminal().then(bar);
        Progress { bar, runs: options.runs, whole: options.whole() }
    }

    /// Shows what happens.
    pub fn show(&self, event: Event<'_>) {
        let Some(bar) = &self.bar else { return };
        let (share, text) = match event {
            Event::Populating(populated) => (
                populated.done as f64 / populated.total.max(1) as f64,
                format!("populating the tables: {} of {} rows", populated.done, populated.total),
            ),
            Event::Running { run, elapsed } => {
                let left = self.whole.saturating_sub(elapsed).as_secs_f64();
                let share = elapsed.as_secs_f64() / self.whole.as_secs_f64().max(f64::MIN_POSITIVE);
                (share, format!("run {run} of {}, {left:.0} s left", self.runs))
            }
            Event::Checking(run) => {
                bar.set_message(format!("checking the tables after run {run} of {}", self.runs));
                return;
            }
            _ => return,
        };
        bar.set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64);
        bar.set_message(text);
    }

    /// Prints something while the status line is away.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Removes the status line.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    // Twice a second: too seldom to disturb a measurement.
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(2));
    let style = ProgressStyle::with_template("{bar:20} {wide_msg}");
    bar.set_style(style.expect("the template is well formed"));
    bar
}
