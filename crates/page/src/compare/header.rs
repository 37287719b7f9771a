//! The head of the page: what is proven, how sure that is, and what the gate says.

use crate::heading::verdict;
use crate::name::{code, visible};
use crate::prose::prose;
use maud::{Markup, html};
use unspin_report::figures::capital;
use unspin_results::{Basis, ComparisonConclusion, GateOutcome, ResultComparison};

/// The head of the page.
pub fn render(comparison: &ResultComparison) -> Markup {
    let explained = match comparison.basis {
        Basis::Figures => {
            "unspin compares the figures of two sessions on one machine, before and after a change, and says which differences are \
             more than noise."
        }
        Basis::Gains => {
            "The sessions are of different machines, whose figures say nothing about each other. So unspin compares the gains: how \
             many times as good as the control of its own session a candidate is."
        }
    };
    html! {
        p.eyebrow { "unspin compare " (code(&unspin_report::shell_line(&comparison.command))) }
        p.badge.(class(comparison)) { (mark(comparison)) (capital(comparison.headline())) }
        (verdict(&comparison.sentence, &names(comparison)))
        @if let Some(gate) = &comparison.gate {
            @if gate.outcome == GateOutcome::Kept { p { strong { (prose(&gate.sentence)) } } }
            @else { p.note { (prose(&gate.sentence)) } }
        }
        p { strong { "How sure: " } (prose(&comparison.certainty)) }
        p { strong { "Compared: " } (prose(&comparison.compared)) "." }
        @if let Some(limit) = &comparison.limit { p { (prose(limit)) } }
        @if let Some(repeat) = &comparison.repeat {
            h2.minor { "Repeat the comparison" }
            pre { code { (visible(repeat)) } }
        }
        p.soft { (explained) }
    }
}

/// The names of all configurations.
fn names(comparison: &ResultComparison) -> Vec<&str> {
    let figures = comparison.figures.iter().map(|compared| &compared.name);
    let gains = comparison.gains.iter().map(|compared| &compared.name);
    figures.chain(gains).chain([&comparison.control]).map(String::as_str).collect()
}

/// The colour of the outcome.
fn class(comparison: &ResultComparison) -> &'static str {
    match (comparison.gate.as_ref().map(|gate| gate.outcome), comparison.conclusion) {
        (_, ComparisonConclusion::Failed) | (Some(GateOutcome::Exceeded), _) => "bad",
        (Some(GateOutcome::Kept), _) => "good",
        (Some(GateOutcome::Unsure), _) => "flat",
        (None, ComparisonConclusion::Better) => "good",
        (None, ComparisonConclusion::Worse) => "bad",
        (None, ComparisonConclusion::NothingProven) => "flat",
    }
}

fn mark(comparison: &ResultComparison) -> &'static str {
    match class(comparison) {
        "good" => "✓ ",
        "bad" => "✗ ",
        _ => "",
    }
}
