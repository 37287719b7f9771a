//! The sections about locks and waits: of one metered run, or of two that are compared.
//!
//! | module | shows |
//! |---|---|
//! | `sides` | the metered runs, and what their rows have in common |
//! | `grid` | a table with bars in its cells, long tables folded |
//! | `lock_table` | locks by time lost |
//! | `wait_table` | waits for other objects |
//! | `blockers` | call sites that waited, and those that held the lock |
//! | `unknown_holder` | why the holder of some waits is not recorded |
//! | `histograms` | how long holds and waits were |
//! | `icicle` | a tree of times as nested rectangles |
//! | `waiting` | the trees of waiting |
//! | `thread_time` | what the threads did in their time |

mod blockers;
mod grid;
mod histograms;
mod icicle;
mod lock_table;
mod sides;
mod thread_time;
mod unknown_holder;
mod wait_table;
mod waiting;

pub use self::grid::{ColumnHead, Grid, GridCell, GridRow};
pub use self::icicle::{Icicle, Node};
use self::sides::Sides;

use maud::{Markup, html};
use unspin_report::MeterReport;

/// The locks and the waits of a metered run, and, if another configuration was metered too, those of that run beside them.
pub fn section(before: &MeterReport, after: Option<&MeterReport>) -> Markup {
    let sides = Sides::new(before, after);
    html! {
        (lock_table::render(&sides))
        (wait_table::render(&sides))
        (blockers::render(&sides))
        (histograms::render(&sides))
        (waiting::render(&sides))
        (thread_time::render(&sides))
    }
}
