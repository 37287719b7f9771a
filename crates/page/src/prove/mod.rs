//! The page of `unspin prove`.

use crate::frame::{Frame, Section};
use maud::html;
use unspin_results::StoredProof;

/// The page.
pub fn frame(proof: &StoredProof) -> Frame {
    let metered = &proof.locks.metered;
    let locks = metered.first().map(|before| {
        let after = metered.get(1).map(|table| &table.report);
        Section {
            id: "locks",
            title: "Locks before and after".into(),
            contents: crate::locks::section(&before.report, after),
        }
    });
    Frame {
        title: format!("unspin prove: {}", proof.command.join(" ")),
        header: html! { h1 { "Proof" } },
        sections: locks.into_iter().collect(),
        footer: html! {},
    }
}
