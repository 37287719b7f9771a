//! Counts as a table.

use std::fmt;

/// Counts of one subject in several worlds.
#[derive(Debug, Default)]
pub struct Table {
    /// The subject.
    pub title: &'static str,
    /// The worlds. The first one is what the others are compared with.
    pub columns: Vec<&'static str>,
    /// The calls.
    pub rows: Vec<Row>,
    /// What could not be counted, and why.
    pub missing: Vec<String>,
}

/// Counts of one call.
#[derive(Debug)]
pub struct Row {
    /// The call.
    pub name: &'static str,
    /// Instructions in each world; none where that was not counted.
    pub counts: Vec<Option<f64>>,
}

impl Row {
    /// A row.
    pub fn new(name: &'static str, counts: Vec<Option<f64>>) -> Row {
        Row { name, counts }
    }
}

impl fmt::Display for Table {
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
