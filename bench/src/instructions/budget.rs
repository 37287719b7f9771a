//! How many instructions each call may cost: a file that is checked in.
//!
//! The budget limits what a world adds to the table's first column. So another version of the C library, with longer or
//! shorter functions of its own, does not exceed the budget. A table of one column is compared as it is.

use super::table::InstructionsTable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A count exceeds the budget if it is larger by this share and by this many instructions.
const SHARE: f64 = 0.03;
const INSTRUCTIONS: f64 = 0.5;

/// How the file begins.
const HEAD: &str = "\
# Instructions per call in user mode, by callgrind: what each world adds to the first column of its table (which is the
# program as it is), or the count itself where a table has one column. ci/cost.sh fails if one is exceeded by 3 %.
# A change that is worth more says so in its commit, which updates this file:
#
#     cargo run --release -p unspin-bench -- --instructions --update-budget bench/budget.toml

";

/// Instructions by table, call and world.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Budget(BTreeMap<String, BTreeMap<String, BTreeMap<String, f64>>>);

impl Budget {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Budget, String> {
        let wrong = |e: &dyn std::fmt::Display| format!("--budget {}: {e}", path.display());
        let text = std::fs::read_to_string(path).map_err(|e| wrong(&e))?;
        toml::from_str(&text).map_err(|e| wrong(&e))
    }

    /// What was counted.
    pub fn of(tables: &[InstructionsTable]) -> Budget {
        let mut budget = Budget::default();
        for table in tables {
            for (row, world, count) in added_instructions(table) {
                let rows = budget.0.entry(table.title.to_owned()).or_default();
                rows.entry(row.to_owned())
                    .or_default()
                    .insert(world.to_owned(), (count * 10.0).round() / 10.0);
            }
        }
        budget
    }

    /// Writes the file.
    pub fn write(&self, path: &PathBuf) -> Result<(), String> {
        let text = toml::to_string(self).map_err(|e| e.to_string())?;
        std::fs::write(path, HEAD.to_owned() + &text)
            .map_err(|e| format!("--update-budget {}: {e}", path.display()))
    }

    /// Whether a count of the table exceeds it, or has no entry.
    pub fn is_exceeded(&self, table: &InstructionsTable) -> bool {
        !self.find_exceeded(table).is_empty()
    }

    /// A line for each count of the table that exceeds it, or has no entry.
    fn find_exceeded(&self, table: &InstructionsTable) -> Vec<String> {
        let mut wrong = Vec::new();
        for (row, world, count) in added_instructions(table) {
            let entry = self.0.get(table.title).and_then(|rows| rows.get(row)?.get(world));
            match entry {
                None => wrong.push(format!("{}, {row}, {world}: {count:.1}, and no budget", table.title)),
                Some(&most) if count > most + INSTRUCTIONS && count > most * (1.0 + SHARE) => {
                    wrong.push(format!(
                        "{}, {row}, {world}: {count:.1} instructions, and the budget is {most:.1}",
                        table.title
                    ));
                }
                Some(_) => {}
            }
        }
        wrong
    }

    /// Fails if a count exceeds it, or has no entry.
    pub fn check(&self, tables: &[InstructionsTable]) -> Result<(), String> {
        let wrong: Vec<String> = tables.iter().flat_map(|table| self.find_exceeded(table)).collect();
        if wrong.is_empty() {
            let compared: usize = tables.iter().map(|table| added_instructions(table).count()).sum();
            println!("\nwithin the budget: {compared} counts");
            return Ok(());
        }
        Err(format!(
            "over the budget:\n  {}\nmake it cheaper, or say in the commit what it is worth and update the budget \
             (--instructions --update-budget FILE)",
            wrong.join("\n  ")
        ))
    }
}

/// What each world adds to the first one: call, world, instructions.
fn added_instructions(table: &InstructionsTable) -> impl Iterator<Item = (&'static str, &'static str, f64)> {
    let is_single = table.columns.len() == 1;
    table.rows.iter().flat_map(move |row| {
        let base = if is_single { Some(0.0) } else { row.counts[0] };
        let worlds = table.columns.iter().zip(&row.counts).skip(usize::from(!is_single));
        worlds.filter_map(move |(world, count)| Some((row.name, *world, (*count)? - base?)))
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::InstructionsRow;
    use super::*;

    fn tables(control: f64) -> [InstructionsTable; 1] {
        let rows = vec![InstructionsRow::new("lock", vec![Some(71.0), Some(control), None])];
        [InstructionsTable {
            title: "Meter",
            columns: vec!["bare", "control", "mutrace"],
            rows,
            missing: Vec::new(),
        }]
    }

    #[test]
    fn count_three_percent_above_the_budget_fails() {
        let budget = Budget::of(&tables(131.0));
        assert_eq!(budget.check(&tables(131.0)), Ok(()));
        assert_eq!(budget.check(&tables(132.5)), Ok(()));
        assert_eq!(budget.check(&tables(100.0)), Ok(()));
        let error = budget.check(&tables(133.5)).unwrap_err();
        assert!(error.contains("Meter, lock, control: 62.5 instructions, and the budget is 60.0"), "{error}");
    }

    #[test]
    fn measurement_without_budget_is_named() {
        let error = Budget::default().check(&tables(131.0)).unwrap_err();
        assert!(error.contains("Meter, lock, control: 60.0, and no budget"), "{error}");
    }

    #[test]
    fn written_budget_is_read_back() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let budget = Budget::of(&tables(131.0));
        budget.write(&file.path().to_owned()).unwrap();
        assert_eq!(Budget::read(file.path()), Ok(budget));
    }
}
