//! The result as Markdown for a comment on a pull request.

use crate::table::{self, CellTable};
use crate::text::place;
use std::fmt::{self, Formatter};
use unspin_report::markdown::{Align, Table, code, prose, text};
use unspin_report::shell_line;
use unspin_results::{Basis, ResultComparison};

/// Writes a result as Markdown of GitHub and GitLab. Texts of the results are literal: no name becomes a link, a mention or HTML.
pub struct Markdown<'a>(pub &'a ResultComparison);

impl fmt::Display for Markdown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let result = self.0;
        writeln!(f, "### unspin compare: {}\n", result.headline())?;
        writeln!(f, "{}\n", code(&shell_line(&result.command)))?;
        writeln!(f, "**Proven:** {}\n", prose(&result.sentence))?;
        writeln!(f, "**How sure:** {}\n", prose(&result.certainty))?;
        if let Some(gate) = &result.gate {
            writeln!(f, "**{}**\n", prose(&gate.sentence))?;
        }
        let (figures, gains) = (table::figures(result), table::gains(result, &result.control));
        let tables = match result.basis {
            Basis::Figures => [figures, gains],
            Basis::Gains => [gains, None],
        };
        for table in tables.iter().flatten() {
            write_table(f, table)?;
        }
        writeln!(f, "{}\n", text(&table::explanation(result)))?;
        for sentence in result.limit.iter().chain(&result.warnings) {
            writeln!(f, "- {}", prose(sentence))?;
        }
        writeln!(f, "\n<details><summary>Verdicts, machines and builds</summary>\n")?;
        for sentence in result.sentences() {
            writeln!(f, "- {}", prose(sentence))?;
        }
        for (side, sessions) in [("before", &result.before), ("after", &result.after)] {
            for session in sessions {
                writeln!(f, "- {side}: {}", text(&place(session)))?;
            }
        }
        writeln!(f, "\n</details>")
    }
}

fn write_table(f: &mut Formatter<'_>, table: &CellTable) -> fmt::Result {
    writeln!(f, "{}\n", text(&table.title))?;
    let align = |column: usize| if matches!(column, 0 | 6) { Align::Left } else { Align::Right };
    let mut shown =
        Table::new(std::array::from_fn::<_, 7, _>(|column| (table.columns[column].as_str(), align(column))));
    for row in &table.rows {
        let cell = |column: usize| if column == 0 { code(&row[0]) } else { text(&row[column]) };
        shown.push(std::array::from_fn::<_, 7, _>(cell));
    }
    writeln!(f, "{shown}")
}
