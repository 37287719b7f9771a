//! The result as Markdown for a comment on a pull request.

use crate::comparability::Basis;
use crate::gate::GateOutcome;
use crate::result::{Conclusion, ResultComparison};
use crate::table::{self, CellTable, EXPLANATION};
use crate::text::place;
use std::fmt::{self, Formatter};
use unspin_report::shell_line;
use unspin_sys::printable;

/// Writes a result as Markdown of GitHub and GitLab. Texts of the results are literal: no name becomes a link, a mention or HTML.
pub struct Markdown<'a>(pub &'a ResultComparison);

impl fmt::Display for Markdown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let result = self.0;
        writeln!(f, "### unspin compare: {}\n", headline(result))?;
        writeln!(f, "{}\n", code(&shell_line(&result.command)))?;
        writeln!(f, "**Proven:** {}\n", literal(&result.sentence))?;
        writeln!(f, "**How sure:** {}\n", literal(&result.certainty))?;
        if let Some(gate) = &result.gate {
            writeln!(f, "**{}**\n", literal(&gate.sentence))?;
        }
        let (figures, gains) = (table::figures(result), table::gains(result, &result.control));
        let tables = match result.basis {
            Basis::Figures => [figures, gains],
            Basis::Gains => [gains, None],
        };
        for table in tables.iter().flatten() {
            write_table(f, table)?;
        }
        writeln!(f, "{}\n", literal(EXPLANATION))?;
        for sentence in result.limit.iter().chain(&result.warnings) {
            writeln!(f, "- {}", literal(sentence))?;
        }
        writeln!(f, "\n<details><summary>Verdicts, machines and builds</summary>\n")?;
        for sentence in result.sentences() {
            writeln!(f, "- {}", literal(sentence))?;
        }
        for (side, sessions) in [("before", &result.before), ("after", &result.after)] {
            for session in sessions {
                writeln!(f, "- {side}: {}", literal(&place(session)))?;
            }
        }
        writeln!(f, "\n</details>")
    }
}

fn headline(result: &ResultComparison) -> &'static str {
    match (result.gate.as_ref().map(|gate| gate.outcome), result.conclusion) {
        (_, Conclusion::Failed) => "failed",
        (Some(GateOutcome::Exceeded), _) => "slower than the limit permits",
        (Some(GateOutcome::Unsure), _) => "the runs do not tell whether the limit is kept",
        (Some(GateOutcome::Kept), _) => "within the limit",
        (None, Conclusion::Better) => "better",
        (None, Conclusion::Worse) => "worse",
        (None, Conclusion::NothingProven) => "no difference proven",
    }
}

fn write_table(f: &mut Formatter<'_>, table: &CellTable) -> fmt::Result {
    writeln!(f, "{}\n", literal(&table.title))?;
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    writeln!(f, "{}", line(table.columns.iter().map(|cell| literal(cell)).collect()))?;
    writeln!(f, "|:--|--:|--:|--:|--:|--:|:--|")?;
    for row in &table.rows {
        let [name, figures @ ..] = row;
        let cells = std::iter::once(code(name)).chain(figures.iter().map(|cell| literal(cell)));
        writeln!(f, "{}", line(cells.collect()))?;
    }
    writeln!(f)
}

/// A name: text within `<code>`, in which neither mentions nor references become links.
fn code(text: &str) -> String {
    format!("<code>{}</code>", entities(text, |c| c.is_ascii_punctuation() && c != '-'))
}

/// A sentence. What Markdown or HTML would read as markup are entities; so are the beginnings of mentions, references and addresses.
fn literal(text: &str) -> String {
    entities(text, |c| "\\`*_{}[]<>#|~&@!$".contains(c)).replace("://", "&#58;//").replace("www.", "www&#46;")
}

fn entities(text: &str, is_markup: impl Fn(char) -> bool) -> String {
    let mut shown = String::new();
    for character in printable::line(text).chars() {
        match is_markup(character) {
            true => shown.push_str(&format!("&#{};", u32::from(character))),
            false => shown.push(character),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_text() {
        let shown = code("a|b`</code>@all\n[x](http://e) <img>");
        assert!(shown.starts_with("<code>a&#124;b&#96;&#60;&#47;code&#62;&#64;all"), "{shown}");
        let inner = shown.trim_start_matches("<code>").trim_end_matches("</code>");
        assert!(!inner.contains(['|', '`', '<', '>', '@', '[', '(', '\n', ':', '.']), "{inner}");
        let sentence = literal("**bold** @all #12 <b> http://x www.y | \u{202e}");
        assert!(
            !sentence.contains(['*', '@', '<', '|', '\u{202e}']) && !sentence.contains("://"),
            "{sentence}"
        );
        assert!(!sentence.replace("&#", "").contains('#'), "{sentence}");
    }
}
