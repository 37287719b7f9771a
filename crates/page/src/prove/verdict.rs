//! The head of the page: what is proven, how sure that is, what to do next.

use super::contestant::{Contestants, Part};
use crate::heading::{badge, lines, sentence_case};
use crate::name::{code, visible};
use maud::{Markup, html};
use unspin_results::{StoredProof, StoredSummary};

/// The head of the page.
pub fn header(proof: &StoredProof, contestants: &Contestants<'_>) -> Markup {
    let summary = proof.summary.clone().unwrap_or_else(|| of_older_document(contestants));
    let (class, badge) = badge(proof.conclusion);
    html! {
        p.eyebrow { "unspin prove " (code(&unspin_report::shell_line(&proof.command))) }
        p.badge.(class) { (badge) }
        h1 { (sentence_case(&summary.proven)) }
        @if let Some(how_sure) = &summary.how_sure { p { strong { "How sure: " } (visible(how_sure)) } }
        @if let Some(evidence) = &summary.evidence { p { (visible(evidence)) } }
        @if let Some(compared) = &summary.compared { p { strong { "Compared: " } (visible(compared)) "." } }
        @if let Some(caution) = &summary.caution { p.note { (visible(caution)) } }
        @if proof.interrupted { p.note { "Interrupted: the results are those of the runs until then." } }
        @if let Some(error) = &proof.aborted {
            p.note { "Ended early; the results are those of the runs until then: " (visible(error)) }
        }
        (next(proof, &summary))
        p.soft {
            "unspin runs a program many times, with its own locks and with others in their place, in random order on one machine, "
            "and says which differences are more than noise. The program itself is not changed."
        }
    }
}

/// What to do next, and the command that repeats the measurement.
fn next(proof: &StoredProof, summary: &StoredSummary) -> Markup {
    html! {
        @if let Some(apply) = &summary.apply {
            h2.minor { "Run the program with it" }
            pre { code { (visible(apply)) } }
        }
        @if let Some(plan) = &proof.plan {
            details {
                summary { "The plan that won: save it as the file that the command names" }
                pre { code { (lines(plan)) } }
            }
        }
        @if !summary.next.is_empty() {
            h2.minor { "What to do next" }
            ul { @for sentence in &summary.next { li { (visible(sentence)) } } }
        }
        @if let Some(repeat) = &summary.repeat {
            h2.minor { "Repeat the measurement" }
            pre { code { (visible(repeat)) } }
        }
    }
}

/// The outcomes of the comparisons stand for the summary, which older documents do not have.
fn of_older_document(contestants: &Contestants<'_>) -> StoredSummary {
    let judged = contestants.0.iter().filter(|contestant| contestant.part == Part::Candidate);
    let mut outcomes: Vec<String> = judged.map(|c| format!("{}: {}", c.name(), c.outcome())).collect();
    // What is proven comes first.
    outcomes.sort_by_key(|outcome| outcome.ends_with("nothing proven"));
    let proven = if outcomes.is_empty() { "nothing.".into() } else { outcomes.join("; ") };
    StoredSummary { proven, ..StoredSummary::default() }
}
