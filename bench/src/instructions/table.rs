//! Counts as a table.

use std::fmt;

/// Counts of one subject in several worlds.
#[derive(Debug, Default)]
pub struct InstructionsTable {
    /// The subject.
    pub title: &'static str,
    /// The worlds. The first one is what the others are compared with.
    pub columns: Vec<&'static str>,
    /// The calls.
    pub rows: Vec<InstructionsRow>,
    /// What could not be counted, and why.
    pub missing: Vec<String>,
}

/// Counts of one call.
#[derive(Debug)]
pub struct InstructionsRow {
    /// The call.
    pub name: &'static str,
    /// Instructions in each world; none where that was not counted.
    pub counts: Vec<Option<f64>>,
}

impl InstructionsRow {
    /// A row.
    pub fn new(name: &'static str, counts: Vec<Option<f64>>) -> InstructionsRow {
        InstructionsRow { name, counts }
    }
}

impl fmt::Display for InstructionsTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<36}", self.title)?;
        for column in &self.columns {
            write!(f, "{column:>9}")?;
        }
        writeln!(f)?;
        for row in &self.rows {
            write!(f, "  {:<34}", row.name)?;
            for count in &row.counts {
                match count {
                    Some(count) => write!(f, "{count:>9.1}")?,
                    None => write!(f, "{:>9}", "-")?,
                }
            }
            writeln!(f)?;
        }
        self.missing.iter().try_for_each(|line| writeln!(f, "  not counted: {line}"))
    }
}
