//! What each of the five reports states. To add a report: one file that implements the trait, a variant of
//! [`ReportChoice`], and an entry of the list in the module above.

use super::experiment::{Experiment, Size};
use super::measured::Measured;
use super::observation::{Observation, Observed};
use super::published::Published;
use super::row::Row;
use crate::options::ReportChoice;
use unspin_launch::error::Error;
use unspin_trial::Report;

/// A historical report and its experiment.
pub trait HistoricalReport {
    /// The report's name on the command line.
    fn choice(&self) -> ReportChoice;

    /// The report's name on the command line as text.
    fn name(&self) -> &'static str;

    /// Author, year, and what was replaced.
    fn title(&self) -> &'static str;

    /// The published comparisons; the first stands in the table of all reports.
    fn published(&self) -> Vec<Published>;

    /// Other claims of the published text, and whether its figures support them.
    fn remarks(&self) -> &'static [&'static str] {
        &[]
    }

    /// What this machine lacks, if the report cannot be measured here. The error names the remedy.
    fn obstacle(&self, _database: &str) -> Option<Error> {
        None
    }

    /// The sessions to run, in order. The table of all reports shows the first pair of the first session. `database` is
    /// the value of dbt1's `--db`.
    fn experiments(&self, size: Size, database: &str) -> Vec<Experiment>;

    /// Command lines of unspin that are run once after the sessions, and shown with what they print.
    fn observations(&self, _size: Size) -> Vec<Observation> {
        Vec::new()
    }

    /// What is shown of an observation instead of its whole output.
    fn interpretation(&self, _observed: &Observed) -> Option<String> {
        None
    }

    /// Rows of figures that one metered run each yields; no verdict judges them.
    fn metered_rows(&self, _report: &Report) -> Vec<Row> {
        Vec::new()
    }

    /// What is the same as in the report.
    fn same(&self) -> &'static str;

    /// The differences between the report and its measurement here, other than the number of CPUs and the kernel.
    fn not_the_same(&self) -> &'static str;

    /// Further paragraphs about the measurements. This is the place for predictions, such as the same comparison on as
    /// many CPUs as the report had. Each prediction is one paragraph, which marks its figures as predicted.
    fn paragraphs(&self, _measured: &[Measured]) -> Vec<String> {
        Vec::new()
    }

    /// What to try next: in words that end with a colon, and the command.
    fn next(&self) -> &'static [(&'static str, &'static str)];
}
