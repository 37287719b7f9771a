//! What each of the five reports states. To add a report: one file that implements the trait, a variant of
//! [`ReportChoice`], and an entry of the list in the module above.

use super::experiment::{Experiment, Size};
use super::measured::Measured;
use super::published::Published;
use super::row::Row;
use crate::options::ReportChoice;
use unspin_launch::error::Error;
use unspin_trial::Report;

/// A historical report and its experiment.
pub trait HistoricalReport {
    /// Its name on the command line.
    fn choice(&self) -> ReportChoice;

    /// The same as text.
    fn name(&self) -> &'static str;

    /// Author, year, and what was replaced.
    fn title(&self) -> &'static str;

    /// The published comparisons; the first stands in the table of all reports.
    fn published(&self) -> Vec<Published>;

    /// What else the published text claims, and whether its figures bear it.
    fn remarks(&self) -> &'static [&'static str] {
        &[]
    }

    /// What this machine lacks, if the report cannot be measured here. The error names the remedy.
    fn obstacle(&self, _database: &str) -> Option<Error> {
        None
    }

    /// The sessions to be run, in order. The first pair of the first one stands in the table of all reports. `database` is
    /// dbt1's.
    fn experiments(&self, size: Size, database: &str) -> Vec<Experiment>;

    /// Rows of figures that one metered run each yields; no verdict judges them.
    fn metered_rows(&self, _report: &Report) -> Vec<Row> {
        Vec::new()
    }

    /// What is the same as in the report.
    fn same(&self) -> &'static str;

    /// What is not the same; that the number of CPUs and the kernel differ is said for all reports.
    fn not_the_same(&self) -> &'static str;

    /// Further paragraphs about the measurements. This is the place for predictions, such as the same comparison on as many
    /// CPUs as the report had: one paragraph each, that says of each figure that it is a prediction.
    fn paragraphs(&self, _measured: &[Measured]) -> Vec<String> {
        Vec::new()
    }

    /// What to try next.
    fn next(&self) -> &'static str;
}
