//! The head of the page: the verdict on each candidate, and what to do.

use crate::heading::{badge, sentence_case, verdict};
use crate::name::{code, visible};
use crate::prose::prose;
use maud::{Markup, html};
use unspin_results::{CombinedCandidate, CombinedResults};
use unspin_stats::Conclusion;
use unspin_stats::fleet::FleetVerdict;

/// The head of the page.
pub fn render(results: &CombinedResults) -> Markup {
    let (class, badge) = badge(results.conclusion);
    let candidates = in_order(results);
    let names = candidates.iter().map(|candidate| candidate.comparison.name.as_str());
    let names: Vec<&str> = names.chain([results.control.as_str()]).collect();
    html! {
        p.eyebrow { "unspin combine " (code(&unspin_report::shell_line(&results.command))) }
        p.badge.(class) { (badge) }
        @match candidates.split_first() {
            None => (verdict(results.without_candidates().unwrap_or_default(), &names)),
            Some((first, others)) => {
                (verdict(&first.sentence, &names))
                (how_sure(first))
                @for other in others {
                    p { strong { (sentence_case(&other.sentence, &names)) } }
                    (how_sure(other))
                }
            }
        }
        p { strong { "Compared: " } (prose(&results.summary.compared)) " " (prose(&results.summary.noise)) }
        @for sentence in &results.summary.hosts { p.note { (prose(sentence)) } }
        @if !results.next.is_empty() {
            h2.minor { "What to do next" }
            ul { @for sentence in &results.next { li { (prose(sentence)) } } }
        }
        @if let Some(repeat) = &results.repeat {
            h2.minor { "Combine the results again" }
            pre { code { (visible(repeat)) } }
        }
        p.soft {
            "Each host compares a candidate with the control in its own rounds. Their ratios are combined, never their times: hosts differ "
            "in speed."
        }
    }
}

fn how_sure(candidate: &CombinedCandidate) -> Markup {
    html! { @if let Some(certainty) = &candidate.certainty { p { strong { "How sure: " } (prose(certainty)) } } }
}

/// The candidates, those first on which the conclusion rests, and of equal ones that with the largest ratio.
pub fn in_order(results: &CombinedResults) -> Vec<&CombinedCandidate> {
    let ratio = |candidate: &CombinedCandidate| {
        candidate.comparison.combined.as_ref().map_or(0.0, |combined| combined.ratio.value)
    };
    let mut candidates: Vec<&CombinedCandidate> = results.candidates.iter().collect();
    candidates.sort_by(|a, b| rank(results, a).cmp(&rank(results, b)).then(ratio(b).total_cmp(&ratio(a))));
    candidates
}

fn rank(results: &CombinedResults, candidate: &CombinedCandidate) -> u8 {
    match candidate.comparison.verdict {
        _ if candidate.recommended => 0,
        FleetVerdict::ProvenFaster { .. } => 1,
        FleetVerdict::ProvenSlower { .. } if results.conclusion == Conclusion::Slower => 2,
        FleetVerdict::DependsOnHost { .. } => 3,
        FleetVerdict::ProvenSlower { .. } => 4,
        FleetVerdict::NothingProven { .. } => 5,
    }
}
