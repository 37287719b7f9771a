//! The progress bar: on standard error, and only if that is a terminal.
//!
//! It is drawn by the thread that waits for the program anyway, twice a second: a busier one would become part of
//! the measurement.

use super::contestant::Contestant;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;
use unspin_stats::{Phase, Plan};

/// How far a sitting has come.
pub struct Progress {
    bar: ProgressBar,
    scale: Scale,
    contestants: u64,
    shown: u64,
}

/// What the bar's full length stands for.
enum Scale {
    /// The time budget.
    Time(Duration),
    /// A fixed number of runs.
    Runs,
}

impl Progress {
    /// A bar for a plan, empty.
    pub fn new(plan: &Plan, contestants: usize) -> Progress {
        let contestants = contestants as u64;
        let runs = (u64::from(plan.rounds_max) + 1) * contestants;
        let fixed = plan.rounds_min == plan.rounds_max;
        let (scale, length) = if fixed {
            (Scale::Runs, runs)
        } else {
            (Scale::Time(plan.budget), plan.budget.as_millis() as u64)
        };
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:30} {elapsed} {msg}");
        bar.set_style(style.expect("the template is well formed"));
        Progress { bar, scale, contestants, shown: 0 }
    }

    /// Says what runs next.
    pub fn show(&mut self, contestant: &Contestant, phase: Phase, elapsed: Duration) {
        let place = match phase {
            Phase::WarmUp => "warm-up".to_owned(),
            Phase::Round(round) => format!("round {round}"),
        };
        self.bar.set_message(format!("{place}: {} ({} candidates)", contestant.name(), self.contestants));
        self.bar.set_position(match self.scale {
            Scale::Time(budget) => elapsed.min(budget).as_millis() as u64,
            Scale::Runs => self.shown,
        });
        self.shown += 1;
        self.bar.tick();
    }

    /// Moves the clock.
    pub fn tick(&self) {
        self.bar.tick();
    }

    /// Takes the bar away.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
