//! The progress bar: on standard error, and only if that is a terminal.
//!
//! It moves twice a second: seldom enough that nobody finds it in a measurement.

use super::contestant::Contestant;
use super::watch::Watch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;
use unspin_stats::{SessionPhase, SessionPlan};

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
    pub fn new(plan: &SessionPlan, contestants: usize) -> Progress {
        let contestants = contestants as u64;
        let runs = (u64::from(plan.rounds_max) + 1) * contestants;
        let fixed = plan.rounds_min == plan.rounds_max;
        let (scale, length) = if fixed {
            (Scale::Runs, runs)
        } else {
            (Scale::Time(plan.budget), plan.budget.as_millis() as u64)
        };
        Progress { bar: bar(length), scale, contestants, shown: 0 }
    }

    /// A bar for something that takes about so long.
    pub fn over(time: Duration) -> Progress {
        Progress { bar: bar(time.as_millis() as u64), scale: Scale::Time(time), contestants: 0, shown: 0 }
    }

    /// Says what runs next.
    pub fn show(&mut self, contestant: &Contestant, phase: SessionPhase, elapsed: Duration) {
        let place = match phase {
            SessionPhase::WarmUp => "warm-up".to_owned(),
            SessionPhase::Round(round) => format!("round {round}"),
        };
        self.say(&format!("{place}: {} ({} candidates)", contestant.name(), self.contestants), elapsed);
    }

    /// Says what goes on.
    pub fn say(&mut self, what: &str, elapsed: Duration) {
        self.bar.set_message(what.to_owned());
        self.bar.set_position(match self.scale {
            Scale::Time(budget) => elapsed.min(budget).as_millis() as u64,
            Scale::Runs => self.shown,
        });
        self.shown += 1;
        self.bar.tick();
    }

    /// Takes the bar away.
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

impl Watch for Progress {
    fn look(&mut self, _pid: u32) {
        self.bar.tick();
    }
}
