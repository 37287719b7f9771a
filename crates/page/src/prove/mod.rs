//! The page of `unspin prove`.
//!
//! [`verdict`] is its head: what is proven, and what to do next. Then follow the pictures, [`ratios`], [`runs`] and [`cpu`], with the
//! locks between them, and at last [`failures`] and [`place`]. [`contestant`] has what is compared, in the order in which all parts
//! show it.

mod contestant;
mod cpu;
mod failures;
mod place;
mod ratios;
mod runs;
mod verdict;

use crate::frame::{Frame, Section};
use crate::locks::Focus;
use contestant::Contestants;
use maud::html;
use unspin_results::StoredProof;
use unspin_stats::Verdict;

/// The page.
pub fn frame(proof: &StoredProof) -> Frame {
    let contestants = Contestants::of(proof);
    let sections = [
        ratios::section(proof, &contestants),
        runs::section(proof, &contestants),
        locks(proof),
        cpu::section(proof, &contestants),
        failures::section(proof),
        Some(place::section(proof)),
    ];
    Frame {
        title: format!("unspin prove: {}", unspin_report::shell_line(&proof.command)),
        header: verdict::header(proof, &contestants),
        sections: sections.into_iter().flatten().collect(),
        footer: html! {},
    }
}

/// The locks of the control, and of the best candidate that was metered. One that is proven better or worse comes before others: the
/// verdict is about it.
fn locks(proof: &StoredProof) -> Option<Section> {
    let (before, others) = proof.locks.metered.split_first()?;
    let comparison =
        |name: &str| proof.analysis.comparisons.iter().find(|comparison| comparison.name == name);
    let rank = |name: &str| {
        let comparison = comparison(name);
        let verdict = comparison.map(|comparison| &comparison.verdict);
        let is_faster = verdict.is_some_and(|verdict| matches!(verdict, Verdict::ProvenFaster { .. }));
        let is_slower = verdict.is_some_and(Verdict::is_slower);
        let ratio = comparison.and_then(|comparison| comparison.ratio).map_or(0.0, |ratio| ratio.value);
        (2 * u8::from(is_faster) + u8::from(is_slower), ratio)
    };
    let after = others.iter().max_by(|a, b| {
        let ((one, ratio), (other, other_ratio)) = (rank(&a.candidate), rank(&b.candidate));
        one.cmp(&other).then(ratio.total_cmp(&other_ratio))
    });
    let judged = after.unwrap_or(before);
    let focus = Focus {
        waits: proof.judged_waits(&judged.candidate),
        is_worse: after.and_then(|after| comparison(&after.candidate)).is_some_and(|c| c.verdict.is_slower()),
        is_brief: true,
    };
    let contents = html! {
        p {
            @if after.is_some() { "One more run of each, which is not among the runs above, was recorded: before is " }
            @else { "One run was recorded, which is no result of its own: that of " }
            (crate::name::name(&before.candidate))
            @if let Some(after) = after { ", after is " (crate::name::name(&after.candidate)) }
            "."
        }
        @for missing in &proof.locks.missing { p { (crate::name::visible(missing)) } }
        (crate::locks::section(&before.report, after.map(|table| &table.report), &focus))
    };
    let shown = if focus.waits.is_empty() { "The locks" } else { "The waits and locks" };
    let title = if after.is_some() { format!("{shown}, before and after") } else { shown.into() };
    Some(Section { id: "locks", title, contents })
}
