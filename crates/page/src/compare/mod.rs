//! The page of `unspin compare`.
//!
//! [`header`] has the verdict and the gate. Then follow the ratios of the later side to the earlier one ([`ratios`]), [`runs`], and
//! at last what limits the comparison, and [`place`].

mod configuration;
mod header;
mod place;
mod ratios;
mod runs;

use crate::frame::{Frame, Section};
use crate::prose::prose;
use maud::html;
use unspin_results::ResultComparison;

/// The page.
pub fn frame(comparison: &ResultComparison) -> Frame {
    let sections = [
        ratios::figures(comparison),
        runs::section(comparison),
        ratios::gains(comparison),
        warnings(comparison),
        Some(place::section(comparison)),
    ];
    Frame {
        title: format!("unspin compare: {}", unspin_report::shell_line(&comparison.command)),
        header: header::render(comparison),
        sections: sections.into_iter().flatten().collect(),
        footer: html! {},
    }
}

fn warnings(comparison: &ResultComparison) -> Option<Section> {
    if comparison.warnings.is_empty() {
        return None;
    }
    let contents = html! { ul { @for warning in &comparison.warnings { li { (prose(warning)) } } } };
    Some(Section { id: "warnings", title: "What limits this comparison".into(), contents })
}
