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
    match &report.search {
        Some(search) if !report.interrupted && report.conclusion() != Conclusion::Faster => {
            writeln!(f, "No plan: nothing that was tried is proven better")?;
            for sentence in why(&search.findings, &search.picks) {
                write!(f, "{}", paragraph(&sentence, 2))?;
            }
            writeln!(f)
        }
        _ => Ok(()),
    }
}

fn write_plan(f: &mut Formatter<'_>, report: &Report, recommended: &Recommended) -> fmt::Result {
    writeln!(f, "The plan that won, {}", recommended.name)?;
    for line in recommended.text.lines() {
        writeln!(f, "{}", format!("  {line}").trim_end())?;
    }
    let how = format!(
        "Kept by --plan FILE, applied by: unspin run --mutex-plan FILE -- {}",
        report.command.join(" ")
    );
    writeln!(f, "{}", paragraph(&how, 0))
}
