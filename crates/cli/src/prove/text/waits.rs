//! The judged waits under all configurations.

use super::super::format::{paragraph, share_of};
use super::super::report::Report;
use super::super::waits::{JudgedSite, SiteRun};
use super::head;
use std::fmt::{self, Formatter};
use unspin_meter::figures::time;

/// Prints the table, and why a candidate did not poll.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    if report.waits.is_empty() {
        return Ok(());
    }
    writeln!(f, "Waits, in one metered run each")?;
    writeln!(f, "{:15} {:>10} {:>8} {:>8}", "", "waits", "slept", "median")?;
    for site in &report.waits {
        writeln!(f, "{}", site.name)?;
        for run in &site.runs {
            let SiteRun { candidate, waits, .. } = run;
            let slept = waits.slept_share().map_or("-".into(), share_of);
            let name = head(&format!("  {candidate}"));
            writeln!(f, "{name} {:>10} {slept:>8} {:>8}", waits.waits, time(waits.median_s))?;
        }
    }
    for site in &report.waits {
        for run in &site.runs {
            if let Some(sentence) = unpolled(site, run) {
                write!(f, "{}", paragraph(&sentence, 0))?;
            }
        }
    }
    writeln!(f)
}

fn unpolled(site: &JudgedSite, run: &SiteRun) -> Option<String> {
    let reason = run.unpolled?.reason();
    let SiteRun { candidate, waits, .. } = run;
    let name = match candidate.ends_with(&format!("@{}", site.name)) {
        true => candidate.clone(),
        false => format!("{candidate} at {}", site.name),
    };
    let slept = waits.slept_share().map_or(String::new(), share_of);
    Some(match (waits.slept == waits.waits, waits.polled_s > 0.0) {
        (true, false) => format!("{name} polled in none of {} waits: {reason}.", waits.waits),
        _ => format!(
            "{name} slept in {slept} of {} waits, about as often as the control: {reason}.",
            waits.waits
        ),
    })
}
