//! Why the holder of some waits for a lock is not recorded, and what to look at instead.

use crate::name::name;
use crate::number::time;
use maud::{Markup, html};
use unspin_figures::Percent;
use unspin_report::{Caller, Lock};

/// The reason, and the call site that holds the lock longest; none if all holders are recorded.
pub fn explanation(label: &str, lock: &Lock) -> Option<Markup> {
    let unknown = lock.unknown_holders()?;
    let mut sites: Vec<&Caller> =
        lock.callers().map(|(_, caller)| caller).filter(|caller| caller.row.hold > 0.0).collect();
    sites.sort_by(|a, b| b.row.hold.total_cmp(&a.row.hold));
    let all: f64 = sites.iter().map(|site| site.row.hold).sum();
    let first = sites.first();
    Some(html! {
        (name(label)) ": for waits of " (time(unknown.seconds)) " the holder is not recorded, because " (unknown.reasons.join(", or because ")) "."
        @if let Some(site) = first {
            " Look at the call site with " (Percent::TwoDigits.of(site.row.hold / all)) " of the time held, " (name(&site.row.name))
            ": shorten what is done there."
        }
    })
}
