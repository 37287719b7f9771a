//! An experiment that was measured here, by the code of `unspin prove`.

use super::experiment::{Experiment, Pair};
use super::figure::{Figure, Improvement};
use super::place::Place;
use super::row::{self, Row};
use unspin_launch::error::Error;
use unspin_stats::{Comparison, SpreadVerdict, Verdict};
use unspin_trial::{Interrupt, PartOfCommand, ProveSettings, Report, RunEnd};

/// A session and its comparisons.
#[derive(Debug)]
pub struct Measured {
    /// What was measured.
    pub experiment: Experiment,
    /// The whole result of the session.
    pub report: Report,
    /// The pairs that could be compared.
    pub pairs: Vec<MeasuredPair>,
}

/// Two configurations of a session, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredPair {
    /// The pair.
    pub pair: Pair,
    /// The comparison of the second with the first.
    pub comparison: Comparison,
    /// The row of the table.
    pub row: Row,
}

impl Measured {
    /// Runs an experiment. None if ^C came before anything was measured.
    pub fn run(
        experiment: Experiment,
        interrupt: &Interrupt,
        part: PartOfCommand,
        is_quiet: bool,
    ) -> Result<Option<Measured>, Error> {
        let settings = ProveSettings { quiet: is_quiet, ..experiment.command.settings() };
        let Some(report) = unspin_trial::measure(&settings, interrupt, part)? else {
            return Ok(None);
        };
        let pairs = experiment
            .pairs
            .iter()
            .filter_map(|&pair| MeasuredPair::of(pair, &report, experiment.unit))
            .collect();
        Ok(Some(Measured { experiment, report, pairs }))
    }

    /// Whether the first failed run exceeded its time limit.
    pub fn is_too_slow(&self) -> bool {
        let mut trials = self.report.session.runs.iter().map(|run| &run.trial);
        let first = trials.find(|trial| trial.value.is_err());
        first.is_some_and(|trial| matches!(trial.ending, RunEnd::TimedOut { .. }))
    }

    /// The reason why the session compares nothing: what failed, with the end of its output. None if it compares
    /// something.
    pub fn failure(&self) -> Option<String> {
        if let Some(error) = &self.report.session.aborted {
            return Some(error.to_string());
        }
        self.report.control_failure().map(|failure| {
            let trials = self.report.session.runs.iter().map(|run| &run.trial);
            let reason = trials.filter_map(|trial| trial.value.as_ref().err()).next();
            let output = self
                .report
                .session
                .runs
                .iter()
                .map(|run| run.trial.output_tail.trim())
                .find(|o| !o.is_empty());
            let last = output.and_then(|output| output.lines().last()).map(|line| format!(", {line}"));
            let reason = reason.map_or(String::new(), |reason| format!(" The first failure: {reason}"));
            format!("{failure}{reason}{}", last.unwrap_or_default())
        })
    }
}

impl MeasuredPair {
    fn of(pair: Pair, report: &Report, unit: &str) -> Option<MeasuredPair> {
        let comparison = report.between(pair.before, pair.after, unit)?;
        let before = row::measured_figure(&report.summary(pair.before)?);
        let after = comparison.summary.as_ref().map_or(Figure::Words("failed"), row::measured_figure);
        let confidence = report.session.analysis.settings.confidence;
        let improvement = comparison.ratio.map(|ratio| Improvement {
            value: ratio.value,
            interval: comparison.has_interval(confidence).then_some(ratio),
        });
        let label = format!("here, {}: {}", Place::of(report).cpus(), pair.what);
        Some(MeasuredPair {
            pair,
            row: Row { label, unit: unit.to_owned(), before, after, improvement },
            comparison,
        })
    }

    /// What the runs prove, in sentences.
    pub fn sentences(&self) -> String {
        let spread = self.comparison.spread.map(|spread| spread.verdict);
        match (spread, &self.comparison.spread_sentence) {
            (Some(SpreadVerdict::ProvenSteadier | SpreadVerdict::ProvenMoreErratic), Some(sentence)) => {
                format!("{} {sentence}", self.comparison.sentence)
            }
            _ => self.comparison.sentence.clone(),
        }
    }

    /// One word or two for the table of all reports.
    pub fn in_brief(&self) -> &'static str {
        match &self.comparison.verdict {
            Verdict::ProvenFaster { .. } => "yes",
            Verdict::ProvenSlower { .. } => "yes, worse",
            Verdict::NothingProven { .. } => "no",
            Verdict::Collapsed(_) => "collapsed",
            Verdict::Hangs(_) => "hangs",
            Verdict::Withheld(_) => "not ranked",
            Verdict::GivenUp { .. } => "given up",
            Verdict::Failed { .. } => "failed",
        }
    }
}
