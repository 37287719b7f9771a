//! The figures of one configuration, as the table of candidates shows them.

use super::super::format::{Scale, p_value};
use super::super::report::Report;
use unspin_stats::{Comparison, Ratio, Summary};

/// The cells of a row. A figure that is not known is "-".
#[derive(Clone, Debug)]
pub struct Cells {
    /// Mean and standard deviation of the metric.
    pub mean: String,
    /// The mean of all runs but the worst.
    pub best: String,
    /// How many times as good as the control.
    pub ratio: String,
    /// Both ends of the ratio's interval.
    pub interval: String,
    /// How many times the control's CPU time.
    pub cpu: String,
    /// The p value, corrected.
    pub p: String,
    /// The p value of the test of spread.
    pub p_of_spread: String,
    /// Number of runs.
    pub runs: usize,
    /// Number of failed runs, with the warm-up.
    pub failed: usize,
}

/// The unit of all rows.
pub fn scale(report: &Report) -> Scale {
    let analysis = &report.session.analysis;
    Scale::new(analysis.control_summary.as_ref().map_or(1.0, |summary| summary.mean), &analysis.metric.unit)
}

impl Cells {
    /// The row of a configuration, given by its index.
    pub fn of(report: &Report, index: usize, scale: &Scale) -> Cells {
        let analysis = &report.session.analysis;
        let comparison = report.comparison(&report.configurations[index]);
        let summary = match comparison {
            Some(comparison) => comparison.summary.as_ref(),
            None => analysis.control_summary.as_ref(),
        };
        let ratio = comparison.and_then(|c| c.ratio);
        Cells {
            mean: summary.map_or("-".into(), |s| mean_and_sd(s, scale)),
            best: summary.and_then(|s| s.mean_of_best_n_minus_1).map_or("-".into(), |m| scale.show(m)),
            ratio: match (comparison, ratio) {
                (None, _) => "1".into(),
                (_, Some(ratio)) => ratio.shown().0,
                (_, None) => "-".into(),
            },
            interval: match (comparison, ratio) {
                (None, _) => "the control".into(),
                (Some(comparison), Some(ratio)) if comparison.has_interval(analysis.settings.confidence) => {
                    interval(ratio)
                }
                _ => "-".into(),
            },
            cpu: match (comparison, comparison.and_then(|c| c.cpu)) {
                (None, _) => "1".into(),
                (_, Some(cpu)) => cpu.times.shown().0,
                (_, None) => "-".into(),
            },
            p: comparison.and_then(|c| c.shown_p(&analysis.settings)).map_or("-".into(), p_value),
            p_of_spread: comparison.and_then(p_of_spread).map_or("-".into(), p_value),
            runs: report.session.trials(index).count(),
            failed: report.session.failures(index).count(),
        }
    }
}

/// Both ends of an interval.
pub fn interval(ratio: Ratio) -> String {
    let (_, [lower, upper]) = ratio.shown();
    format!("{lower} – {upper}")
}

/// The mean of a configuration's runs, with their deviation if there are two.
pub fn mean_and_sd(summary: &Summary, scale: &Scale) -> String {
    match summary.standard_deviation {
        Some(sd) => scale.show_with_deviation(summary.mean, sd),
        None => scale.show(summary.mean),
    }
}

fn p_of_spread(comparison: &Comparison) -> Option<f64> {
    let spread = comparison.spread?;
    Some(spread.difference_p_corrected.unwrap_or(spread.difference.p))
}
