//! The page of `unspin meter`.

use crate::frame::{Frame, Section};
use maud::html;
use unspin_report::MeterReport;

/// The page.
pub fn frame(report: &MeterReport) -> Frame {
    Frame {
        title: "unspin meter".into(),
        header: html! { h1 { "Locks" } },
        sections: vec![Section {
            id: "locks",
            title: "Locks".into(),
            contents: crate::locks::section(report, None),
        }],
        footer: html! {},
    }
}
