//! The experiments of a report: sessions of `unspin prove`.

use unspin_trial::ProveCommand;

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Few and short runs.
    Quick,
    /// The parameters of the report.
    Full,
}

/// One session of `unspin prove`, and which of its configurations stand for the sides of the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// What it compares, in a few words.
    pub what: &'static str,
    /// The experiment in one word or two, for its line in the table of all reports.
    pub in_brief: &'static str,
    /// What the session compares, and in which time.
    pub command: ProveCommand,
    /// The unit of the figure, if the session does not know it.
    pub unit: &'static str,
    /// The pairs to be compared: those of the report first.
    pub pairs: Vec<Pair>,
}

/// Two configurations of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// What the pair stands for.
    pub what: &'static str,
    /// The name of the first configuration.
    pub before: &'static str,
    /// The name of the second one.
    pub after: &'static str,
}

/// The words of a command line.
pub fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
