//! The part of a lens that is shown.

use super::detail::Detail;
use super::filters::Filters;
use super::rows::LensTable;
use super::thread_time::{LensMeasurements, LibcWaits};
use unspin_report::{Figures, Layout};

/// A report of a lens. It can be serialised, for JSON.
pub trait LensReport {
    /// The printed table of what passes the filters.
    fn section(&self, filters: &Filters<'_>, layout: &Layout) -> String;

    /// The table for `unspin top`.
    fn table(&self, figures: Figures) -> LensTable;

    /// Writes all that is known of the row with this name. None if the report has no such row.
    fn describe(&self, name: &str, detail: &mut Detail) -> Option<()>;

    /// Adds what the lens knows of the threads' time.
    fn measure<'r>(&'r self, _measurements: &mut LensMeasurements<'r>) {}

    /// Compares with what the pthread lens has seen of the same program.
    fn explain(&mut self, _libc: LibcWaits) {}
}
