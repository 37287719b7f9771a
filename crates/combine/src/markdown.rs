//! The report as Markdown, for an issue or a pull request.

use crate::format::clean;
use crate::table::{TITLES, common_plan, group_lines, lines, ranked};
use std::fmt::{self, Formatter};
use unspin_report::figures::capital;
use unspin_report::markdown::{Align, Table, code, prose, text};
use unspin_report::shell_line;
use unspin_results::CombinedResults;

/// Writes combined results as Markdown of GitHub and GitLab.
pub struct Markdown<'a>(pub &'a CombinedResults);

impl fmt::Display for Markdown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let results = self.0;
        writeln!(f, "### {}\n", code(&shell_line(&results.command)))?;
        for candidate in &results.candidates {
            writeln!(f, "- **{}**", prose(&candidate.sentence))?;
            if let Some(certainty) = &candidate.certainty {
                writeln!(f, "  {}", prose(&capital(certainty)))?;
            }
        }
        if let Some(nothing) = results.without_candidates() {
            writeln!(f, "- **Proven: {}**", text(nothing))?;
        }
        let summary = &results.summary;
        writeln!(f, "\nCompared: {} {}", prose(&summary.compared), prose(&summary.noise))?;
        for sentence in &summary.hosts {
            writeln!(f, "\n{}", prose(sentence))?;
        }
        for candidate in ranked(results) {
            writeln!(f, "\n#### {}\n", text(&candidate.comparison.name))?;
            let align = |column: usize| if matches!(column, 1..=4) { Align::Right } else { Align::Left };
            let mut table =
                Table::new(std::array::from_fn::<_, 7, _>(|column| (TITLES[column], align(column))));
            for line in lines(results, candidate) {
                table.push(line.map(|cell| text(&cell)));
            }
            write!(f, "{table}")?;
            if let Some(sentence) = &candidate.between_hosts {
                writeln!(f, "\n{}", prose(sentence))?;
            }
            for grouping in &candidate.groupings {
                writeln!(f, "\n{}\n", prose(&grouping.sentence))?;
                for line in group_lines(results, grouping) {
                    writeln!(f, "- {}", text(&line))?;
                }
            }
        }
        if !results.next.is_empty() {
            writeln!(f, "\n**What to do**\n")?;
        }
        results.next.iter().try_for_each(|step| writeln!(f, "- {}", prose(step)))?;
        let Some(plan) = common_plan(results) else { return Ok(()) };
        // Indented code, from which no line of a plan can escape.
        writeln!(f)?;
        plan.into_iter().try_for_each(|line| writeln!(f, "    {}", clean(line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HostModel, combined};

    #[test]
    fn hostile_names_are_no_markup() {
        let hosts =
            ["n|1", "<script>", "[n](javascript:x)"].map(|name| HostModel::new(name, &[("poll@*", 1.5)]));
        let report = Markdown(&combined(&hosts)).to_string();
        assert!(
            report.contains("n&#124;1") && report.contains("&lt;script&gt;") && !report.contains("<script")
        );
        assert!(report.contains(r"\[n\](javascript:x)") && report.contains(r"poll&#64;\*"), "{report}");
        let row = report.lines().find(|line| line.contains("script")).unwrap();
        assert_eq!(row.matches(" | ").count(), 6, "{row}");
    }
}
