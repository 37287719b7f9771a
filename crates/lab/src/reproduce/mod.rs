//! `unspin reproduce`: the five historical reports on this machine.
//!
//! Each report is one file that states its published figures, its experiments as sessions of `unspin prove`, and what is not the
//! same ([`historical_report`]). [`evidence`] tests the published figures, [`measured`] runs the experiments.

mod dbt1;
mod evidence;
mod experiment;
mod figure;
mod hackbench;
mod hackbench_kernels;
mod historical_report;
mod json;
mod measured;
mod observation;
mod outcome;
mod place;
mod prediction;
mod profile;
mod profile_kernels;
mod published;
#[cfg(test)]
mod quotations;
mod row;
mod semopbench;
mod summary;
mod text;
mod time_plan;
mod volano;
mod volano_kernels;

use crate::options::{ReportChoice, ReproduceOptions};
use experiment::Size;
use historical_report::HistoricalReport;
use measured::Measured;
use outcome::{ReportOutcome, Shortcoming};
use std::process::ExitCode;
use std::time::Duration;
use text::OutcomeText;
use time_plan::TimePlan;
use unspin_launch::command::lab;
use unspin_launch::error::Error;
use unspin_launch::machine::{Build, Machine};
use unspin_launch::output::{outfile, stderr, stdout};
use unspin_trial::{Interrupt, PartOfCommand, duration, format};

/// The reports, in the order in which `all` measures them.
const ALL: [&dyn HistoricalReport; 5] =
    [&semopbench::Semopbench, &dbt1::Dbt1, &profile::Profile, &volano::Volano, &hackbench::Hackbench];

/// The reports with a comparison that today's kernels allow: `--kernel`.
const ON_KERNELS: [&dyn HistoricalReport; 3] =
    [&profile_kernels::ProfileKernels, &volano_kernels::VolanoKernels, &hackbench_kernels::HackbenchKernels];

/// At least one report was not measured: docs/exit-codes.md.
const INCOMPLETE: u8 = 4;
const INTERRUPTED: u8 = 130;

/// Measures the reports that the command line names, and prints them. With `all`, the table of all reports comes first.
pub fn run(options: &ReproduceOptions) -> Result<ExitCode, Error> {
    crate::dbt1::parse_database(&options.db)?;
    if options.json.as_deref() == Some(std::path::Path::new("-")) {
        return Err(Error::Usage("--json -: the file is written after each report: name one".into()));
    }
    outfile::try_files(&[("--json", options.json.as_deref())])?;
    lab::find_unspin()?;
    let reports = requested(options)?;
    let size = if options.quick { Size::Quick } else { Size::Full };
    let plan = TimePlan::of(&reports, size, &options.db);
    let interrupt = Interrupt::install()?;
    stdout::print(&heading(&plan, size))?;
    let runner = ReportRunner { options, size, plan, interrupt, count: reports.len() };
    let (mut outcomes, mut texts) = (Vec::new(), Vec::new());
    for (index, &report) in reports.iter().enumerate() {
        let outcome = runner.measure(index, report);
        // The table names the reports that an interrupt left out.
        let text = match runner.interrupt.has_come() && outcome.measured.is_empty() && reports.len() > 1 {
            true => String::new(),
            false => format!("{}\n", OutcomeText(&outcome)),
        };
        outcomes.push(outcome);
        // Write the file before the text, and after each report: the measured results are kept however the command
        // ends.
        if let Some(file) = &options.json {
            json::write(&outcomes, options.quick, file)?;
        }
        texts.push(text);
    }
    runner.interrupt.allow_signals_to_exit();
    if let ReportChoice::All = options.report {
        stdout::print(&format!("{}\n", summary::Summary(&outcomes)))?;
    }
    stdout::print(&texts.concat())?;
    Ok(match (runner.interrupt.has_come(), outcomes.iter().all(ReportOutcome::is_complete)) {
        (true, _) => ExitCode::from(INTERRUPTED),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::from(INCOMPLETE),
    })
}

/// The reports that the command line names.
fn requested(options: &ReproduceOptions) -> Result<Vec<&'static dyn HistoricalReport>, Error> {
    let known: &[&dyn HistoricalReport] = if options.kernel { &ON_KERNELS } else { &ALL };
    let is_wanted = |report: &&&dyn HistoricalReport| {
        options.report == ReportChoice::All || report.choice() == options.report
    };
    let wanted: Vec<&dyn HistoricalReport> = known.iter().filter(is_wanted).copied().collect();
    if wanted.is_empty() {
        let names: Vec<&str> = known.iter().map(|report| report.name()).collect();
        return Err(Error::Usage(format!(
            "--kernel: this report has no comparison of today's kernels: leave it out, or name {}",
            names.join(" or ")
        )));
    }
    Ok(wanted)
}

/// Measures the reports of one command, with its options, time plan and interrupt.
struct ReportRunner<'o> {
    options: &'o ReproduceOptions,
    size: Size,
    plan: TimePlan,
    interrupt: Interrupt,
    /// The number of reports.
    count: usize,
}

impl ReportRunner<'_> {
    /// Measures one report. An error is part of the outcome: the other reports go on.
    fn measure<'r>(&self, index: usize, report: &'r dyn HistoricalReport) -> ReportOutcome<'r> {
        let mut outcome = ReportOutcome::of(report);
        if self.interrupt.has_come() {
            return ReportOutcome { shortcoming: Some(Shortcoming::Interrupted), ..outcome };
        }
        if let Some(obstacle) = report.obstacle(&self.options.db) {
            return ReportOutcome {
                shortcoming: Some(Shortcoming::Missing(obstacle.to_string())),
                ..outcome
            };
        }
        let mut spent = Duration::ZERO;
        for experiment in report.experiments(self.size, &self.options.db) {
            let part = self.part(index, report.name(), spent);
            spent += experiment.command.time_budget();
            match Measured::run(experiment, &self.interrupt, part, self.options.quiet) {
                Ok(None) => {}
                Ok(Some(measured)) => {
                    outcome.shortcoming = measured.failure().map(|why| match measured.is_too_slow() {
                        true => Shortcoming::TooSlow(why),
                        false => Shortcoming::Failed(why),
                    });
                    outcome.measured.push(measured);
                }
                Err(error) => outcome.shortcoming = Some(Shortcoming::Failed(error.to_string())),
            }
            if self.interrupt.has_come() {
                outcome.shortcoming = Some(Shortcoming::Interrupted);
            }
            if outcome.shortcoming.is_some() {
                break;
            }
        }
        if outcome.is_complete() {
            self.observe(&mut outcome);
        }
        outcome
    }

    /// Makes the observations of a report that was measured.
    fn observe(&self, outcome: &mut ReportOutcome<'_>) {
        for observation in outcome.report.observations(self.size) {
            if !self.options.quiet {
                stderr::say(format_args!("reproduce: {}: {}", outcome.report.name(), observation.what));
            }
            match observation.run(&self.interrupt) {
                Ok(Some(observed)) => outcome.observed.push(observed),
                Ok(None) => outcome.shortcoming = Some(Shortcoming::Interrupted),
                Err(error) => outcome.shortcoming = Some(Shortcoming::Failed(error.to_string())),
            }
            if outcome.shortcoming.is_some() {
                return;
            }
        }
    }

    /// "hackbench, report 5 of 5, at most 38 s left for all".
    fn part(&self, index: usize, name: &str, spent: Duration) -> PartOfCommand {
        let left = duration(self.plan.left(index, spent).as_secs_f64());
        let part = match self.options.report {
            ReportChoice::All => {
                format!("{name}, report {} of {}, at most {left} left for all", index + 1, self.count)
            }
            _ => format!("{name}, at most {left} left"),
        };
        PartOfCommand { command: "reproduce", part }
    }
}

/// What is going to be measured, on which machine, and how long it takes.
fn heading(plan: &TimePlan, size: Size) -> String {
    let machine = Machine::this();
    let build = Build::THIS;
    let place = format!(
        "{} CPUs ({}), Linux {}, unspin {} ({})",
        machine.cpus, machine.processor, machine.kernel, build.version, build.commit
    );
    let total = duration(plan.total().as_secs_f64());
    let time = format!("At most some {total}: {}.", plan.parts());
    let rough = match size {
        Size::Quick => {
            "Quick figures are rough: runs are short, and as many as fit in the time. At least six rounds are needed to prove \
             anything, more with several candidates; where other programs use the CPUs fewer may fit, and the report says so. \
             Differences by a factor are provable so, differences of a few per cent are not."
        }
        Size::Full => {
            "The parameters are those of the reports. --quick takes under three minutes for all five."
        }
    };
    let paragraphs = [place, time, rough.to_owned()].map(|text| format::paragraph(&text, 0));
    format!("{}\n", paragraphs.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Command, CommandLine, LabCommand};
    use clap::Parser;

    /// There are six sessions. Each may exceed its budget by one run and by the time in which its processes end.
    #[test]
    fn quick_fits_in_three_minutes_with_a_margin() {
        let plan = TimePlan::of(&ALL, Size::Quick, "sqlite");
        assert!(plan.total() <= Duration::from_secs(160), "{}", plan.parts());
        assert_eq!(plan.left(0, Duration::ZERO), plan.total());
        assert_eq!(plan.left(ALL.len(), Duration::ZERO), Duration::ZERO);
        assert_eq!(plan.left(0, Duration::from_secs(1)) + Duration::from_secs(1), plan.total());
    }

    /// The names of the pairs are names of configurations. With other names no row would be measured.
    #[test]
    fn experiments_measure_their_pairs() {
        for size in [Size::Quick, Size::Full] {
            let reports = ALL.iter().chain(&ON_KERNELS);
            for experiment in reports.flat_map(|report| report.experiments(size, "sqlite")) {
                let names = unspin_trial::names(&experiment.command.settings()).unwrap();
                assert!(!experiment.pairs.is_empty());
                for pair in &experiment.pairs {
                    for name in [pair.before, pair.after] {
                        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn each_report_has_its_name_and_its_figures() {
        for report in ALL.into_iter().chain(ON_KERNELS) {
            let parsed = CommandLine::try_parse_from(["unspin", "reproduce", report.name()]).unwrap();
            let Command::Lab(LabCommand::Reproduce(options)) = parsed.command else {
                panic!("{}", report.name())
            };
            assert_eq!(options.report, report.choice());
            let published = report.published();
            assert!(!published.is_empty());
            for text in [report.same(), report.not_the_same()] {
                assert!(!text.ends_with('.') && !text.is_empty(), "a full stop follows: {text}");
            }
            for (text, command) in report.next() {
                assert!(text.ends_with(':') && command.starts_with("unspin "), "{text} {command}");
            }
        }
    }
}
