//! What to do with the result: the plan that won, or why there is none.

use super::super::configuration::Configuration;
use super::super::format::paragraph;
use super::super::recommendation::Recommended;
use super::super::report::Report;
use crate::next::why::{Judged, why};
use std::fmt::{self, Formatter};
use unspin_launch::output::shell;
use unspin_stats::{Comparison, Conclusion, Quantity, Verdict, three_digits};

/// Prints the paragraph.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    if let Some(recommended) = &report.recommended {
        return write_plan(f, report, recommended);
    }
    if report.conclusion() == Conclusion::OverCpuLimit {
        return writeln!(
            f,
            "No plan: every candidate that is proven faster may use more CPU time than --cpu-limit allows\n"
        );
    }
    // Nothing is known about the candidates then.
    if report.control_failure().is_some() {
        return Ok(());
    }
    match &report.search {
        Some(search) if search.is_given_up() => Ok(()),
        Some(search) if !report.interrupted && report.conclusion() != Conclusion::Faster => {
            write!(f, "{}", paragraph(&headline(report), 0))?;
            for sentence in why(&search.findings, &search.picks, &search.polling, candidate_results(report)) {
                write!(f, "{}", paragraph(&sentence, 2))?;
            }
            writeln!(f)
        }
        _ => Ok(()),
    }
}

/// The sentence that no candidate won, and which lost by how much.
fn headline(report: &Report) -> String {
    let control = &report.session.analysis.control;
    let worse = |comparison: &Comparison| match comparison.verdict {
        Verdict::ProvenSlower { ratio } => Some(match report.session.analysis.metric.quantity {
            Quantity::WallTime => {
                format!("{} is proven slower ({} times as long)", comparison.name, factor(1.0 / ratio.value))
            }
            Quantity::CpuTime | Quantity::Other => {
                format!("{} is proven worse ({} times as good)", comparison.name, factor(ratio.value))
            }
        }),
        Verdict::Collapsed(_) => Some(format!("{} collapsed", comparison.name)),
        Verdict::Hangs(_) => Some(format!("{} hangs", comparison.name)),
        Verdict::GivenUp { times, proven: true, .. } => Some(format!(
            "{} is proven slower (each run over {} times as long)",
            comparison.name,
            three_digits(times, 1)
        )),
        Verdict::GivenUp { .. } => Some(format!("{} took too long to be judged", comparison.name)),
        Verdict::ProvenFaster { .. }
        | Verdict::NothingProven { .. }
        | Verdict::Withheld(_)
        | Verdict::Failed { .. } => None,
    };
    let has_screened = report.search.as_ref().is_some_and(|search| search.screening.is_some());
    let worse: Vec<String> = comparisons(report).filter_map(worse).collect();
    match worse.is_empty() {
        true if !report.has_judged() && !has_screened => "No plan: there is nothing to try".into(),
        true => "No plan: no candidate is proven better".into(),
        false => {
            format!("No plan: no candidate is proven better than {control}; {}", worse.join(", "))
        }
    }
}

fn factor(factor: f64) -> String {
    three_digits(factor, 2)
}

/// The results of the candidates.
fn candidate_results(report: &Report) -> Judged {
    let ratios = comparisons(report).filter_map(|comparison| Some(comparison.ratio?.value));
    let polls = |configuration: &&Configuration| {
        configuration.is_judged() && configuration.judged_plan().is_some_and(|plan| !plan.waits.is_empty())
    };
    let mut polling = report
        .configurations
        .iter()
        .filter(polls)
        .filter_map(|configuration| report.comparison(configuration));
    Judged { best: ratios.max_by(f64::total_cmp), is_polling_worse: polling.any(|c| c.verdict.is_slower()) }
}

/// The comparisons of the candidates.
fn comparisons(report: &Report) -> impl Iterator<Item = &Comparison> {
    let judged = report.configurations.iter().filter(|configuration| configuration.is_judged());
    judged.filter_map(|configuration| report.comparison(configuration))
}

fn write_plan(f: &mut Formatter<'_>, report: &Report, recommended: &Recommended) -> fmt::Result {
    writeln!(f, "The plan that won, {}", recommended.name)?;
    // The comment of the file repeats the verdict.
    let text = recommended.file.text();
    for line in text.lines().skip_while(|line| line.starts_with('#') || line.is_empty()) {
        writeln!(f, "{}", format!("  {line}").trim_end())?;
    }
    let file = match &recommended.path {
        None => {
            writeln!(f, "--plan FILE writes it to a file. To apply it:")?;
            "FILE".into()
        }
        Some(path) => {
            writeln!(f, "To apply it:")?;
            shell::line(&[path.into()])
        }
    };
    // One line, which can be pasted into a shell.
    writeln!(f, "  unspin run --use-plan {file} -- {}\n", shell::line(&report.applied_to))
}
