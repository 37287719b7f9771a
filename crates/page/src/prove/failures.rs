//! Runs that failed: the reason of the first of each configuration, and the end of its output.

use crate::frame::Section;
use crate::heading::lines;
use crate::name::{name, visible};
use maud::html;
use unspin_results::{StoredProof, StoredRun};

/// The section; none if no run failed.
pub fn section(proof: &StoredProof) -> Option<Section> {
    let failed =
        |index: usize| proof.runs.iter().filter(move |run| run.candidate == index && run.value.is_none());
    let first = |index: usize| failed(index).next().map(|run| (index, failed(index).count(), run));
    let found: Vec<(usize, usize, &StoredRun)> = (0..proof.candidates.len()).filter_map(first).collect();
    if found.is_empty() {
        return None;
    }
    let contents = html! {
        p { "A run that fails is a result, and is never left out. A candidate with a failed run is not ranked." }
        @for (index, count, run) in found {
            h3 { (name(&proof.candidates[index].name)) }
            p {
                (count) @if count == 1 { " run failed: " } @else { " runs failed, the first: " }
                (visible(run.failure.as_deref().unwrap_or("the reason is unknown")))
            }
            @if !run.output_tail.trim().is_empty() {
                p { "The end of its output:" }
                pre { (lines(&run.output_tail)) }
            }
        }
    };
    Some(Section { id: "failures", title: "Runs that failed".into(), contents })
}
