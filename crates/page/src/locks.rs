//! The sections about locks.

use maud::{Markup, html};
use unspin_report::MeterReport;

/// The locks of a program, and, if another configuration was metered too, those under it.
pub fn section(before: &MeterReport, after: Option<&MeterReport>) -> Markup {
    let _ = after;
    html! { p { (before.locks.len()) " locks" } }
}
