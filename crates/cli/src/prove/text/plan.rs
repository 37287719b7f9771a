//! What to do with the result: the plan that won, or why there is none.

use super::super::format::paragraph;
use super::super::recommendation::Recommended;
use super::super::report::Report;
use super::super::search::why;
use std::fmt::{self, Formatter};
use unspin_stats::Conclusion;

/// Prints it.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    if let Some(recommended) = &report.recommended {
        return write_plan(f, report, recommended);
    }
    if report.conclusion() == Conclusion::OverCpuLimit {
        return writeln!(f, "No plan: what is proven faster may use more CPU time than --cpu-limit allows\n");
    }
    match &report.search {
        Some(search) if !report.interrupted && report.conclusion() != Conclusion::Faster => {
            writeln!(f, "No plan: nothing that was tried is proven better")?;
            for sentence in why(&search.findings, &search.picks, &search.polling, seemed(report)) {
                write!(f, "{}", paragraph(&sentence, 2))?;
            }
            writeln!(f)
        }
        _ => Ok(()),
    }
}

/// How many times as good as the control the best of the judged was, proven or not.
fn seemed(report: &Report) -> Option<f64> {
    let judged = report.contestants.iter().filter(|contestant| contestant.is_judged());
    let ratios = judged.filter_map(|contestant| Some(report.comparison(contestant)?.ratio?.value));
    ratios.max_by(f64::total_cmp)
}

fn write_plan(f: &mut Formatter<'_>, report: &Report, recommended: &Recommended) -> fmt::Result {
    writeln!(f, "The plan that won, {}", recommended.name)?;
    for line in recommended.file.text().lines() {
        writeln!(f, "{}", format!("  {line}").trim_end())?;
    }
    let how = format!(
        "Kept by --plan FILE, applied by: unspin run --use-plan FILE -- {}",
        report.command.join(" ")
    );
    writeln!(f, "{}", paragraph(&how, 0))
}
