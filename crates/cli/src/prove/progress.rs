//! The progress bar: on standard error, and only if that is a terminal.
//!
//! It moves twice a second: too seldom to disturb a measurement.

use super::configuration::Configuration;
use super::monitor::RunMonitor;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;
use unspin_stats::{SessionPhase, SessionPlan};

/// The progress of a session.
pub struct Progress {
    bar: ProgressBar,
    scale: BarLength,
    configurations: u64,
    shown: u64,
}

/// What the full length of the bar means.
enum BarLength {
    /// The time budget.
    Time(Duration),
    /// A fixed number of runs.
    Runs,
}

impl Progress {
    /// An empty bar for a plan.
    pub fn new(plan: &SessionPlan, configurations: usize) -> Progress {
        let configurations = configurations as u64;
        let runs = (u64::from(plan.rounds_max) + 1) * configurations;
        let fixed = plan.rounds_min == plan.rounds_max;
        let (scale, length) = if fixed {
            (BarLength::Runs, runs)
        } else {
            (BarLength::Time(plan.budget), plan.budget.as_millis() as u64)
        };
        Progress { bar: bar(length), scale, configurations, shown: 0 }
    }

    /// A bar for something that takes about this time.
    pub fn over(time: Duration) -> Progress {
        Progress {
            bar: bar(time.as_millis() as u64),
            scale: BarLength::Time(time),
            configurations: 0,
            shown: 0,
        }
    }

    /// Shows what runs next.
    pub fn show(&mut self, configuration: &Configuration, phase: SessionPhase, elapsed: Duration) {
        let place = match phase {
            SessionPhase::WarmUp => "warm-up".to_owned(),
            SessionPhase::Round(round) => format!("round {round}"),
        };
        self.message(
            &format!("{place}: {} ({} candidates)", configuration.name(), self.configurations),
            elapsed,
        );
    }

    /// Shows what is being done.
    pub fn message(&mut self, what: &str, elapsed: Duration) {
        self.bar.set_message(what.to_owned());
        self.bar.set_position(match self.scale {
            BarLength::Time(budget) => elapsed.min(budget).as_millis() as u64,
            BarLength::Runs => self.shown,
        });
        self.shown += 1;
        self.bar.tick();
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

fn bar(length: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {elapsed} {msg}");
    bar.set_style(style.expect("the template is well formed"));
    bar
}

impl RunMonitor for Progress {
    fn check(&mut self, _pid: u32) {
        self.bar.tick();
    }
}
