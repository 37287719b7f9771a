//! What became of a report here: measured, missing, failed, or not begun.

use super::evidence::{self, Evidence};
use super::historical_report::HistoricalReport;
use super::measured::Measured;
use super::observation::Observed;
use super::published::Published;
use super::row::Row;

/// A report with its published figures, and what became of its experiments.
pub struct ReportOutcome<'r> {
    /// The report.
    pub report: &'r dyn HistoricalReport,
    /// The report's published comparisons.
    pub published: Vec<Published>,
    /// What they prove.
    pub evidence: Vec<Evidence>,
    /// The sessions that ended, or were interrupted.
    pub measured: Vec<Measured>,
    /// What was observed after them.
    pub observed: Vec<Observed>,
    /// Why not everything was measured, if so.
    pub shortcoming: Option<Shortcoming>,
}

/// Why a report was not measured, or not completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortcoming {
    /// This machine lacks something. The text names the remedy.
    Missing(String),
    /// A program failed.
    Failed(String),
    /// A run exceeded its time limit, as on a slow or busy machine.
    TooSlow(String),
    /// ^C came.
    Interrupted,
}

impl<'r> ReportOutcome<'r> {
    /// Nothing has been measured yet.
    pub fn of(report: &'r dyn HistoricalReport) -> ReportOutcome<'r> {
        let published = report.published();
        let evidence = evidence::of_all(&published);
        ReportOutcome {
            report,
            published,
            evidence,
            measured: Vec::new(),
            observed: Vec::new(),
            shortcoming: None,
        }
    }

    /// The rows that were measured here: those of one metered run each, then those that are judged.
    pub fn rows(&self) -> Vec<Row> {
        let metered = self.measured.iter().flat_map(|measured| self.report.metered_rows(&measured.report));
        let judged =
            self.measured.iter().flat_map(|measured| measured.pairs.iter().map(|pair| pair.row.clone()));
        metered.chain(judged).collect()
    }

    /// Whether `--quick` or not, everything was measured.
    pub fn is_complete(&self) -> bool {
        self.shortcoming.is_none()
    }

    /// One word or two: what the runs here prove about the first row of [`rows`](ReportOutcome::rows).
    pub fn in_brief(&self) -> &'static str {
        let first = self.measured.first();
        if self.shortcoming.is_none()
            && first.is_some_and(|measured| !self.report.metered_rows(&measured.report).is_empty())
        {
            return "one run";
        }
        match (&self.shortcoming, first.and_then(|measured| measured.pairs.first())) {
            (Some(Shortcoming::Missing(_)), _) => "missing",
            (Some(Shortcoming::Failed(_)), _) => "failed",
            (Some(Shortcoming::TooSlow(_)), _) => "too slow",
            (Some(Shortcoming::Interrupted), _) => "interrupted",
            (None, Some(pair)) => pair.in_brief(),
            (None, None) if !self.observed.is_empty() => "one run",
            (None, None) => "nothing",
        }
    }
}
