//! How the candidates were found.

use super::super::format::paragraph;
use super::super::report::Report;
use super::super::search::{Findings, Pick, Screened, Search};
use std::fmt::{self, Formatter};
use unspin_meter::figures::time;
use unspin_stats::screening::{Fate, Standing};

/// Prints what was found, and who was tried.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let Some(search) = &report.search else { return Ok(()) };
    let findings = &search.findings;
    let place = format!("Found in one run, metered: {} on {} CPUs", time(findings.seconds), findings.cpus);
    writeln!(f, "{place}")?;
    write!(f, "{}", paragraph(&what(search), 2))?;
    for pick in &search.picks {
        write!(f, "{}", paragraph(&describe(findings, pick), 4))?;
    }
    writeln!(f)?;
    match &search.screening {
        Some(screened) => write_screening(f, report, screened),
        None => Ok(()),
    }
}

fn what(search: &Search) -> String {
    let findings = &search.findings;
    if search.picks.is_empty() {
        return match &search.screening {
            None => "No mutex costs enough time to look for a better one.".into(),
            Some(_) => {
                "No mutex costs enough time to look for a better one; what else could help was tried.".into()
            }
        };
    }
    format!(
        "Threads waited {} for mutexes, {} at any moment on average. Picked, as threads waited more than {} for each:",
        time(findings.mutexes_s),
        findings.waiting(findings.mutexes_s),
        time(super::super::search::WORTH * findings.capacity()),
    )
}

fn describe(findings: &Findings, pick: &Pick) -> String {
    let origin = pick.origin.as_ref().map_or(String::new(), |origin| format!(", {origin}"));
    let starved =
        if pick.starved { "; some waited so much longer than others that they starved" } else { "" };
    format!(
        "{}{origin}: {}, {} at any moment; without it the program would be at most {:.2} times as fast{starved}",
        pick.name,
        time(pick.lost_s),
        findings.waiting(pick.lost_s),
        pick.ceiling
    )
}

fn write_screening(f: &mut Formatter<'_>, report: &Report, screened: &Screened) -> fmt::Result {
    let text = format!(
        "Tried in {} short runs, {:.0} s: how many times as good as {}. That only chooses who is judged.",
        screened.runs(),
        screened.elapsed_s,
        report.sitting.analysis.control
    );
    write!(f, "{}", paragraph(&text, 0))?;
    for standing in &screened.standings {
        let judged = report.contestants.iter().any(|c| c.name() == standing.name);
        writeln!(f, "  {:>5}  {}{}", ratio(standing), standing.name, fate(standing, judged))?;
    }
    writeln!(f)
}

fn ratio(standing: &Standing) -> String {
    standing.ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"))
}

fn fate(standing: &Standing, judged: bool) -> String {
    match &standing.fate {
        Fate::Collapsed { limit_s } => format!(": collapsed, stopped after {limit_s:.1} s"),
        Fate::Failed { reason } => format!(": {reason}"),
        Fate::Kept | Fate::Dropped if judged => ": goes on".into(),
        Fate::Kept | Fate::Dropped => String::new(),
    }
}
