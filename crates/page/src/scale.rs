//! The page of `unspin scale`.

use crate::frame::Frame;
use maud::html;
use unspin_results::StoredScale;

/// The page.
pub fn frame(scale: &StoredScale) -> Frame {
    Frame {
        title: format!("unspin scale: {}", scale.command.join(" ")),
        header: html! { h1 { "Scaling" } },
        sections: Vec::new(),
        footer: html! {},
    }
}
