//! The page of `unspin combine`.
//!
//! [`header`] has the verdict and what to do. [`candidate`] shows the ratio on each host, their mean and how much they differ;
//! [`hosts`] what was measured where.

mod candidate;
mod header;
mod hosts;

use crate::frame::{Frame, Section};
use crate::heading::lines;
use crate::name::visible;
use maud::html;
use unspin_results::CombinedResults;

/// The page.
pub fn frame(results: &CombinedResults) -> Frame {
    let sections = [
        candidate::section(results),
        Some(hosts::section(results)),
        plans(results),
        Some(hosts::measured(results)),
    ];
    Frame {
        title: format!("unspin combine: {}", unspin_report::shell_line(&results.command)),
        header: header::render(results),
        sections: sections.into_iter().flatten().collect(),
        footer: html! {},
    }
}

fn plans(results: &CombinedResults) -> Option<Section> {
    if results.plans.is_empty() {
        return None;
    }
    let contents = html! {
        p { "Plans that hosts proved. Save one as a file for " code { "unspin run --use-plan" } "." }
        @for plan in &results.plans {
            details {
                summary { "The plan of " (visible(&unspin_report::figures::list(&plan.hosts, "and"))) }
                pre { code { (lines(&plan.plan)) } }
            }
        }
    };
    Some(Section { id: "plans", title: "Plans".into(), contents })
}
