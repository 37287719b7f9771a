//! The head of the page: what is proven, how sure that is, what to do next.

use super::contestant::{Contestant, Contestants};
use crate::heading::{badge, lines, verdict};
use crate::name::{code, visible};
use crate::part::Part;
use crate::prose::prose;
use maud::{Markup, html};
use unspin_results::{StoredProof, StoredSummary};
use unspin_stats::Conclusion;

/// The head of the page.
pub fn header(proof: &StoredProof, contestants: &Contestants<'_>) -> Markup {
    let summary = proof.summary.clone().unwrap_or_else(|| of_older_document(contestants));
    let (class, badge) = badge(proof.conclusion);
    let names: Vec<&str> = contestants.0.iter().map(Contestant::name).collect();
    html! {
        p.eyebrow { "unspin prove " (code(&unspin_report::shell_line(&proof.command))) }
        p.badge.(class) { (badge) }
        (verdict(&summary.proven, &names))
        // Much disturbance may be the reason why nothing is proven.
        @let is_disturbed = proof.conclusion == Conclusion::NothingProven && proof.disturbance.taken().is_some();
        @if is_disturbed { (notes(&summary.warnings)) }
        @if let Some(how_sure) = &summary.how_sure { p { strong { "How sure: " } (prose(how_sure)) } }
        @if let Some(evidence) = &summary.evidence { p { (prose(evidence)) } }
        (notes(summary.caution.as_slice()))
        @if !is_disturbed { (notes(&summary.warnings)) }
        @if let Some(compared) = &summary.compared { p { strong { "Compared: " } (prose(compared)) "." } }
        @for pair in &proof.between_schedulers {
            p { strong { "Between the schedulers: " } (prose(&pair.comparison.sentence)) }
        }
        @if proof.interrupted { p.note { "Interrupted: the results are those of the runs until then." } }
        @if let Some(error) = &proof.aborted {
            p.note { "Ended early; the results are those of the runs until then: " (prose(error)) }
        }
        (why(proof, &summary))
        (next(proof, &summary))
        p.soft {
            "unspin runs a program many times, with its own locks and with others in their place, in random order on one machine, "
            "and says which differences are more than noise. The program itself is not changed."
        }
    }
}

fn notes(sentences: &[String]) -> Markup {
    html! { @for sentence in sentences { p.note { (prose(sentence)) } } }
}

/// Where the program loses time, and how that changed. If nothing is proven about a candidate, that is no reason for anything.
fn why(proof: &StoredProof, summary: &StoredSummary) -> Markup {
    let is_undecided = proof.conclusion == Conclusion::NothingProven && summary.compared.is_some();
    html! {
        @if !summary.why.is_empty() {
            h2.minor { @if is_undecided { "What changed" } @else { "Why" } }
            @for reason in &summary.why {
                p { (prose(&reason.sentence)) }
                @if !reason.places.is_empty() { ul { @for place in &reason.places { li { (prose(place)) } } } }
            }
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
            @if summary.apply.is_some() {
                p {
                    "A service runs with the plan without " code { "unspin run" } " in front: " code { "unspin plan compile" } ", with the file of "
                    "the plan, writes what it needs."
                }
            }
            details {
                summary { "The plan that won: save it as the file that the commands name" }
                pre { code { (lines(plan)) } }
            }
        }
        @if !summary.next.is_empty() {
            h2.minor { "What to do next" }
            ul { @for sentence in &summary.next { li { (prose(sentence)) } } }
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
