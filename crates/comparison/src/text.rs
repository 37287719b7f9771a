//! The printed result.

use crate::comparability::describe_machine;
use crate::table::{self, CellTable};
use std::fmt::{self, Formatter};
use unspin_report::{paragraph, shell_line};
use unspin_results::{Basis, ResultComparison, SessionSummary};
use unspin_sys::printable;

/// Prints a result within 100 columns.
pub struct Text<'a>(pub &'a ResultComparison);

const WIDTH: usize = 100;

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let result = self.0;
        put(f, &shell_line(&result.command), 0)?;
        put(f, &format!("Compared: {}", result.compared), 0)?;
        put(f, &format!("Proven: {}", result.sentence), 0)?;
        put(f, &format!("How sure: {}", result.certainty), 0)?;
        for sentence in result.limit.iter().chain(result.gate.as_ref().map(|gate| &gate.sentence)) {
            put(f, sentence, 0)?;
        }
        let (figures, gains) = (table::figures(result), table::gains(result, &result.control));
        let tables = match result.basis {
            Basis::Figures => [figures, gains],
            Basis::Gains => [gains, None],
        };
        for table in tables.iter().flatten() {
            writeln!(f)?;
            write_table(f, table)?;
        }
        put(f, &table::explanation(result), 0)?;
        writeln!(f, "\nVerdict")?;
        for sentence in result.sentences() {
            put(f, sentence, 2)?;
        }
        if !result.warnings.is_empty() {
            writeln!(f, "\nWarnings")?;
        }
        for warning in &result.warnings {
            put(f, warning, 2)?;
        }
        writeln!(f)?;
        for (side, sessions) in [("before", &result.before), ("after", &result.after)] {
            for session in sessions {
                put(f, &format!("{side}: {}", place(session)), 0)?;
            }
        }
        Ok(())
    }
}

/// "before.json: 2 CPUs (…), Linux 6.1, host a, unspin 0.1.0 (1a2b3c)".
pub fn place(session: &SessionSummary) -> String {
    format!(
        "{}: {}, unspin {} ({})",
        session.file,
        describe_machine(&session.machine),
        session.unspin.version,
        session.unspin.commit
    )
}

fn put(f: &mut Formatter<'_>, sentence: &str, indent: usize) -> fmt::Result {
    f.write_str(&paragraph(&printable::line(sentence), WIDTH, indent))
}

/// Columns as wide as their cells; a name that would make the table wider than the output has a line of its own.
fn write_table(f: &mut Formatter<'_>, table: &CellTable) -> fmt::Result {
    /// The widest name beside figures.
    const NAME: usize = 22;
    put(f, &table.title, 0)?;
    let names: Vec<String> = table.rows.iter().map(|row| printable::line(&row[0]).into_owned()).collect();
    let width = |column: usize| {
        let cells = table.rows.iter().map(|row| &row[column]).chain([&table.columns[column]]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let fitting = names.iter().map(|name| name.chars().count()).filter(|length| *length <= NAME);
    let name_width = fitting.max().unwrap_or(0);
    let figures = |row: &[String; 7]| {
        let cells = (1..row.len()).map(|column| format!("{:>1$}", row[column], width(column)));
        cells.collect::<Vec<String>>().join("  ")
    };
    writeln!(f, "{:name_width$}  {}", "", figures(&table.columns))?;
    for (name, row) in names.iter().zip(&table.rows) {
        if name.chars().count() > NAME {
            writeln!(f, "{name}\n{:name_width$}  {}", "", figures(row))?;
        } else {
            writeln!(f, "{name:name_width$}  {}", figures(row))?;
        }
    }
    Ok(())
}
