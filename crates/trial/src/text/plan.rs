//! What to do with the result: the plan that won, or why there is none.

use super::super::configuration::Configuration;
use super::super::format::paragraph;
use super::super::recommendation::Recommended;
use super::super::report::Report;
use crate::next::why::{Judged, why};
use std::ffi::OsString;
use std::fmt::{self, Formatter};
use unspin_launch::output::shell;
use unspin_stats::{Comparison, Conclusion, Quantity, Verdict, three_digits};

/// Prints the paragraph.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    if let Some(recommended) = &report.recommended {
        return write_plan(f, report, recommended);
    }
    let Some((headline, reasons)) = no_plan(report) else { return Ok(()) };
    write!(f, "{}", paragraph(&headline, 0))?;
    for sentence in reasons {
        write!(f, "{}", paragraph(&sentence, 2))?;
    }
    writeln!(f)
}

/// Why there is no plan, and the reasons why nothing is proven better; none if there is nothing to say about it.
pub fn no_plan(report: &Report) -> Option<(String, Vec<String>)> {
    if report.recommended.is_some() {
        return None;
    }
    if report.conclusion() == Conclusion::OverCpuLimit {
        let why =
            "No plan: every candidate that is proven faster may use more CPU time than --cpu-limit allows";
        return Some((why.into(), Vec::new()));
    }
    // Nothing is known about the candidates then.
    if report.control_failure().is_some() {
        return None;
    }
    match &report.search {
        Some(search) if search.is_given_up() => None,
        Some(search) if !report.interrupted && report.conclusion() != Conclusion::Faster => Some((
            headline(report),
            why(&search.findings, &search.picks, &search.polling, candidate_results(report)),
        )),
        _ => None,
    }
}

/// The command that applies the fastest candidate that is recommended: with the plan that won, or with an engine, run queue or scheduler.
pub fn apply(report: &Report) -> Option<String> {
    let command = shell::line(&report.applied_to);
    if let Some(recommended) = &report.recommended {
        let file = recommended.path.as_ref().map_or("FILE".into(), |path| shell::line(&[path.into()]));
        return Some(format!("unspin run --use-plan {file} -- {command}"));
    }
    let ratio = |configuration: &&Configuration| report.comparison(configuration)?.recommended();
    let judged = report.configurations.iter().filter(|configuration| configuration.is_judged());
    let recommended = judged.filter_map(|configuration| Some((configuration, ratio(&configuration)?.value)));
    let (best, _) = recommended.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    if let Some(kernel) = best.guest_kernel() {
        let mut words: Vec<OsString> = ["unspin", "vm", "--kernel", &kernel.name].map(OsString::from).into();
        words.extend(kernel.options.iter().cloned());
        if let Some(scheduler) = best.judged_scheduler() {
            words.extend(["--scheduler", &scheduler.line].map(OsString::from));
        }
        return Some(format!("{} -- {command}", shell::line(&words)));
    }
    if let Some(scheduler) = best.judged_scheduler() {
        return Some(format!(
            "unspin run --scheduler {} -- {command}",
            shell::line(&[(&scheduler.line).into()])
        ));
    }
    match (best.judged_engine(), best.judged_run_queue()) {
        (Some(engine), _) => Some(format!("unspin run --sysv {} -- {command}", engine.name())),
        (_, Some(run_queue)) => Some(format!("unspin run --runqueue {} -- {command}", run_queue.name())),
        (None, None) => None,
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
    match &recommended.path {
        None => writeln!(f, "--plan FILE writes it to a file. To apply it:")?,
        Some(_) => writeln!(f, "To apply it:")?,
    }
    // One line, which can be pasted into a shell.
    writeln!(f, "  {}\n", apply(report).unwrap_or_default())
}
