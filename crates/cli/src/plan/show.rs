//! `unspin plan show` and `unspin plan check`.

use super::deployment;
use crate::options::PlanSource;
use std::fmt::Write;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::output::{shell, stdout};
use unspin_launch::plan::deployed::{DeployedPlan, Deployment};
use unspin_launch::plan::{By, Place, PlanFile};

/// Prints what a plan replaces.
pub fn show(source: &PlanSource) -> Result<ExitCode, Error> {
    let deployment = deployment(source)?;
    let mut text = heading(&deployment);
    for (label, noun, places) in deployment.rows() {
        let _ = writeln!(text, "\n{label} ({noun})");
        for place in places {
            let _ = writeln!(text, "  {}", described(place));
        }
    }
    stdout::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints for which builds a plan is, if it fits them.
pub fn check(source: &PlanSource) -> Result<ExitCode, Error> {
    if DeployedPlan::is_at(&source.plan) {
        let plan = DeployedPlan::read(&source.plan)?;
        if let Some(program) = source.program.first() {
            return Err(Error::Usage(format!(
                "--program {}: a compiled plan names its programs; `unspin plan compile --program` chooses others",
                program.display()
            )));
        }
        if let Some(obstacle) = plan.obstacle() {
            return Err(Error::Input(format!("{}: {obstacle}", source.plan.display())));
        }
        let programs: Vec<_> = plan.programs.iter().map(|(path, _)| shell::on_one_line(path)).collect();
        stdout::print(&fits(&programs))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = heading(&deployment(source)?);
    if !PlanFile::read_argument(&source.plan)?.names_builds() {
        text += "it names no build, so it fits each one that has its names: check the compiled plan (.plan) after an upgrade\n";
    }
    stdout::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn heading(deployment: &Deployment) -> String {
    let programs: Vec<_> = deployment.programs.iter().map(|path| shell::on_one_line(path)).collect();
    fits(&programs)
}

fn fits(programs: &[String]) -> String {
    format!("the plan fits {}\n", programs.join(", "))
}

/// `initialised by the call at 0x1135 in /usr/lib/libq.so, for 0x2000-0x2040 in /usr/bin/x`
fn described(place: &Place) -> String {
    let mut spans = place.spans.iter().map(|span| {
        let (start, end, module) = (span.range.start, span.range.end, shell::on_one_line(&span.module));
        if end - start == 1 {
            format!("{start:#x} in {module}")
        } else {
            format!("{start:#x}-{end:#x} in {module}")
        }
    });
    let how = match place.by {
        By::Variable => "the variable at",
        By::Init => "initialised by the call at",
        By::Use => "first used by the call at",
        By::Site => "waits in the call at",
    };
    let first = spans.next().unwrap_or_default();
    let separator = if place.by == By::Variable { " or " } else { ", for " };
    spans.fold(format!("{how} {first}"), |text, span| text + separator + &span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use unspin_launch::plan::Span;

    #[test]
    fn place_is_described_from_the_inside_out() {
        let span = |file: &str, range| Span::new(Path::new(file), range);
        let init =
            Place { by: By::Init, spans: vec![span("/l.so", 0x1135..0x1136), span("/x", 0x2000..0x2040)] };
        assert_eq!(described(&init), "initialised by the call at 0x1135 in /l.so, for 0x2000-0x2040 in /x");
        let variable =
            Place { by: By::Variable, spans: vec![span("/x", 0x40..0x68), span("/y", 0x80..0xa8)] };
        assert_eq!(described(&variable), "the variable at 0x40-0x68 in /x or 0x80-0xa8 in /y");
    }
}
