//! Progress on standard error: a status line on a terminal, otherwise a line for each phase.
//!
//! The status line is redrawn twice a second: too seldom to disturb a measurement.

use super::budget::{TimeBudget, duration};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::{Cell, RefCell};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};
use unspin_launch::program::NEEDS_AN_END;
use unspin_sys::printable;

/// The progress of `prove`.
#[derive(Debug)]
pub struct Progress {
    budget: TimeBudget,
    output: ProgressOutput,
    /// Estimated time of the whole, if it is known.
    whole: Cell<Option<Duration>>,
    doing: RefCell<String>,
    /// Whether [`Progress::still_running`] has said what a long run may mean.
    has_explained: Cell<bool>,
    /// When the last line was printed.
    last_line: Cell<Instant>,
    part: PartOfCommand,
}

/// The command that measures, and the part of it that the present session is.
#[derive(Clone, Debug)]
pub struct PartOfCommand {
    /// The name of the command.
    pub command: &'static str,
    /// The part and the time left for the whole: "hackbench, report 5 of 5, at most 35 s left"; empty if the session is the whole.
    pub part: String,
}

#[derive(Debug)]
enum ProgressOutput {
    /// A status line on the terminal.
    Status(ProgressBar),
    /// A line for each phase.
    Lines,
    /// Nothing.
    Quiet,
}

/// Time after which a line is printed, where there is no status line.
const SILENCE: Duration = Duration::from_secs(30);

/// Length of the bar in steps.
const STEPS: u64 = 1000;

impl Progress {
    /// No phase of this command has begun.
    pub fn new(command: &'static str, budget: TimeBudget, is_quiet: bool) -> Progress {
        Progress::of_part(PartOfCommand { command, part: String::new() }, budget, is_quiet)
    }

    /// The progress of a session that is a part of another command.
    pub fn of_part(part: PartOfCommand, budget: TimeBudget, is_quiet: bool) -> Progress {
        let output = match (is_quiet, std::io::stderr().is_terminal()) {
            (true, _) => ProgressOutput::Quiet,
            (false, true) => ProgressOutput::Status(bar()),
            (false, false) => ProgressOutput::Lines,
        };
        let whole = Cell::new(budget.total());
        Progress {
            budget,
            output,
            whole,
            doing: RefCell::default(),
            has_explained: Cell::default(),
            last_line: Cell::new(Instant::now()),
            part,
        }
    }

    /// Lines, also on a terminal.
    pub fn in_lines(mut self) -> Progress {
        if matches!(self.output, ProgressOutput::Status(_)) {
            self.output = ProgressOutput::Lines;
        }
        self
    }

    /// A phase begins.
    pub fn phase(&self, what: &str) {
        self.detail(what);
        if matches!(self.output, ProgressOutput::Lines) {
            self.line(&format!("{}{}: {what}", self.part(), self.time()));
        }
    }

    /// What runs next, for the status line.
    pub fn detail(&self, what: &str) {
        what.clone_into(&mut self.doing.borrow_mut());
        self.tick();
    }

    /// Something that the user should know at once.
    pub fn notice(&self, text: &str) {
        match &self.output {
            ProgressOutput::Status(bar) => bar.suspend(|| self.line(text)),
            ProgressOutput::Lines => self.line(text),
            ProgressOutput::Quiet => (),
        }
    }

    /// The time after which [`Progress::still_running`] is due for a run that begins now.
    pub fn patience(&self) -> Duration {
        self.budget.patience()
    }

    /// Prints how long the run has taken so far. The first message also says what that may mean.
    pub fn still_running(&self, run: Duration) {
        let after = duration(run.as_secs_f64().round());
        let still = format!("the program has not ended after {after}, and unspin still waits");
        match self.has_explained.replace(true) {
            true => self.notice(&still),
            false => self.notice(&format!(
                "{still}. {}. If the program hangs, its threads may wait for each other (a deadlock). ^C ends the \
                 run and prints what was found",
                needs_an_end(self.part.command)
            )),
        }
    }

    /// Prints how long the load of a server has taken so far. The first message also says what that may mean.
    pub fn load_still_running(&self, run: Duration) {
        let after = duration(run.as_secs_f64().round());
        let still = format!("the load has not ended after {after}, and unspin still waits");
        match self.has_explained.replace(true) {
            true => self.notice(&still),
            false => self.notice(&format!(
                "{still}. --load needs a command that ends by itself. ^C ends the run and prints what was found"
            )),
        }
    }

    /// Sets the estimated time until a proof is complete.
    pub fn set_whole(&self, whole: Duration) {
        self.whole.set(Some(whole));
    }

    /// Redraws the status line. Where there is none, prints a line if the last one is old: a phase may take a quarter of an hour.
    pub fn tick(&self) {
        let ProgressOutput::Status(bar) = &self.output else {
            if matches!(self.output, ProgressOutput::Lines) && self.last_line.get().elapsed() >= SILENCE {
                self.line(&format!("{}{}: {}", self.part(), self.time(), self.doing.borrow()));
            }
            return;
        };
        let whole = self.budget.total().or(self.whole.get()).unwrap_or_default().as_secs_f64();
        let share = if whole > 0.0 { self.budget.elapsed().as_secs_f64() / whole } else { 0.0 };
        bar.set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64);
        bar.set_message(format!("{}{}: {}", self.part(), self.time(), self.doing.borrow()));
        bar.tick();
    }

    /// Whether the session is a part of another command, which has no `--time-budget`.
    pub fn is_of_part(&self) -> bool {
        !self.part.part.is_empty()
    }

    /// Removes the status line.
    pub fn finish(&self) {
        if let ProgressOutput::Status(bar) = &self.output {
            bar.finish_and_clear();
        }
    }

    /// "12 s of at most 60 s".
    fn time(&self) -> String {
        let elapsed = format!("{:.0} s", self.budget.elapsed().as_secs_f64());
        match (self.budget.total(), self.whole.get()) {
            (Some(total), _) if self.budget.elapsed() > total => {
                format!("{elapsed}, the time budget was {}", duration(total.as_secs_f64()))
            }
            (Some(total), Some(whole)) if whole > total => format!(
                "{elapsed} of at most {}, and a proof needs about {}",
                duration(total.as_secs_f64()),
                duration(whole.as_secs_f64().round())
            ),
            (Some(total), _) => format!("{elapsed} of at most {}", duration(total.as_secs_f64())),
            (None, Some(whole)) => format!("{elapsed} of about {}", duration(whole.as_secs_f64())),
            (None, None) => elapsed,
        }
    }

    /// Standard error may be closed or full; the measurement goes on.
    fn line(&self, text: &str) {
        self.last_line.set(Instant::now());
        let text = printable::line(text);
        let _ = writeln!(std::io::stderr(), "unspin {}: {text}", self.part.command);
    }

    /// The part, as the beginning of a sentence.
    fn part(&self) -> String {
        if self.part.part.is_empty() { String::new() } else { format!("{}; ", self.part.part) }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:20} {wide_msg}");
    bar.set_style(style.expect("the template is well formed"));
    bar
}

/// What the command needs of a program. Only `prove` has options for servers.
fn needs_an_end(command: &str) -> String {
    match command {
        "prove" => NEEDS_AN_END.to_owned(),
        other => format!("{other} compares whole runs, so it needs a program that ends by itself"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_run_is_explained_in_the_name_of_the_command() {
        assert_eq!(needs_an_end("prove"), NEEDS_AN_END);
        let scale = needs_an_end("scale");
        assert!(scale.starts_with("scale compares") && !scale.contains("--server"), "{scale}");
    }
}
