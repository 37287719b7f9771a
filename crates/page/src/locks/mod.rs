//! The sections about locks and waits: of one metered run, or of two that are compared.
//!
//! | module | shows |
//! |---|---|
//! | `sides` | the metered runs, and what their rows have in common |
//! | `grid` | a table with bars in its cells, long tables folded |
//! | `focus` | what the verdict beside it is about |
//! | `distribution` | times of one kind by their length |
//! | `lock_table` | locks by time lost |
//! | `wait_table` | waits for other objects |
//! | `blockers` | call sites that waited, and those that held the lock |
//! | `unknown_holder` | why the holder of some waits is not recorded |
//! | `histograms` | how long holds and waits for locks were |
//! | `wait_lengths` | how long the judged waits were |
//! | `icicle` | a tree of times as nested rectangles |
//! | `waiting` | the trees of waiting |
//! | `thread_time` | what the threads did in their time |

mod blockers;
mod distribution;
mod focus;
mod grid;
mod histograms;
mod icicle;
mod lock_table;
mod sides;
mod thread_time;
mod unknown_holder;
mod wait_lengths;
mod wait_table;
mod waiting;

pub use self::focus::Focus;
pub use self::grid::{ColumnHead, Grid, GridCell, GridRow};
pub use self::icicle::{Icicle, Node};
use self::sides::Sides;

use maud::{Markup, html};
use unspin_report::MeterReport;

/// The locks and the waits of a metered run, and, if another configuration was metered too, those of that run beside them. What
/// the verdict is about comes first.
pub fn section(before: &MeterReport, after: Option<&MeterReport>, focus: &Focus<'_>) -> Markup {
    let sides = Sides::new(before, after);
    let (is_brief, is_about_waits) = (lock_table::is_brief(&sides, focus), !focus.waits.is_empty());
    let locks = html! {
        @if !is_brief { (blockers::render(&sides)) (histograms::render(&sides)) (waiting::for_locks(&sides)) }
    };
    let waits = html! { (waiting::for_others(&sides)) (thread_time::render(&sides)) };
    html! {
        @if is_about_waits { (wait_lengths::render(&sides, focus)) } @else { (lock_table::render(&sides, focus)) }
        (wait_table::render(&sides, focus))
        @if is_about_waits { (waits) (lock_table::render(&sides, focus)) (locks) } @else { (locks) (waits) }
    }
}
