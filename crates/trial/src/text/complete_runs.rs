//! The runs of a session that ended before its first round was complete.

use super::super::format::Scale;
use super::super::report::Report;
use super::head;
use std::fmt::{self, Formatter};

/// Number of runs of a configuration that are shown.
const SHOWN: usize = 8;

/// Prints the figure of each run that succeeded, the warm-up first. Nothing is decided by them.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let figures = |index: usize| {
        let runs = report.session.runs.iter().filter(move |run| run.candidate == index);
        runs.filter_map(|run| run.trial.value.as_ref().ok().copied())
    };
    let all = (0..report.configurations.len()).flat_map(figures);
    let Some(first) = all.clone().next() else { return Ok(()) };
    let scale = Scale::new(first, &report.session.analysis.metric.unit);
    let unit = if scale.unit.is_empty() { String::new() } else { format!(" [{}]", scale.unit) };
    writeln!(f, "The {} that ended, the warm-up first{unit}", count(all.count()))?;
    for (index, configuration) in report.configurations.iter().enumerate() {
        let shown: Vec<String> = figures(index).take(SHOWN).map(|figure| scale.show(figure)).collect();
        let shown = if shown.is_empty() { "-".into() } else { shown.join("  ") };
        writeln!(f, "{} {shown}", head(configuration.name()))?;
    }
    writeln!(f)
}

fn count(runs: usize) -> String {
    if runs == 1 { "run".into() } else { format!("{runs} runs") }
}
