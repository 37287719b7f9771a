//! The table of all reports.

use super::outcome::{Outcome, Shortcoming};
use super::row::Row;
use crate::prove::format::paragraph;
use std::fmt::{self, Formatter};

/// Prints a row for each report, and what is missing.
pub struct Summary<'o, 'r>(pub &'o [Outcome<'r>]);

/// A row of the table.
struct Line {
    name: &'static str,
    /// Both published sides, their ratio, and whether that is proven.
    published: [String; 3],
    /// The same of what was measured here.
    here: [String; 3],
}

impl Line {
    fn of(outcome: &Outcome<'_>) -> Line {
        let published = outcome.published.first().map(Row::published);
        let cells = |row: Option<Row>| match row {
            Some(row) => [row.in_brief(), row.shown_improvement().0],
            None => ["-".into(), "-".into()],
        };
        let [published, ratio] = cells(published);
        let proven = outcome.evidence.first().map_or("-", |evidence| evidence.in_brief());
        let [here, here_ratio] = cells(outcome.rows().into_iter().next());
        Line {
            name: outcome.report.name(),
            published: [published, ratio, proven.into()],
            here: [here, here_ratio, outcome.in_brief().into()],
        }
    }
}

impl fmt::Display for Summary<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "== all reports\n")?;
        let lines: Vec<Line> = self.0.iter().map(Line::of).collect();
        let heads = ["published", "ratio", "proven", "here", "ratio", "proven"];
        writeln!(
            f,
            "{:11} {:22} {:>5} {:12} {:24} {:>5} {}",
            "", heads[0], heads[1], heads[2], heads[3], heads[4], heads[5]
        )?;
        for Line { name, published: [a, b, c], here: [d, e, g] } in &lines {
            writeln!(f, "{name:11} {a:22} {b:>5} {c:12} {d:24} {e:>5} {g}")?;
        }
        writeln!(f)?;
        let text = "proven: a difference of the means, at 5 %. \"spread only\": of the standard deviations. \"no runs\": the report \
                    states no runs, so nothing can be judged. volano: the figures are those of the lock, the verdict here that of \
                    messages per second. The machines differ, so compare ratios, not seconds.";
        writeln!(f, "{}", paragraph(text, 0))?;
        for outcome in self.0 {
            let name = outcome.report.name();
            let line = match &outcome.shortcoming {
                Some(Shortcoming::Missing(why)) => format!("{name}: missing on this machine: {why}"),
                Some(Shortcoming::Failed(why)) => format!("{name}: failed: {why}"),
                Some(Shortcoming::Interrupted) => format!("{name}: interrupted"),
                None => continue,
            };
            write!(f, "{}", paragraph(&line, 0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::hackbench::Hackbench;
    use super::super::profile::Profile;
    use super::*;

    #[test]
    fn table_has_a_row_for_each_report_and_names_what_is_missing() {
        let missing = Some(Shortcoming::Missing("perf events: sysctl".into()));
        let outcomes = [
            Outcome { shortcoming: missing, ..Outcome::of(&Profile) },
            Outcome { shortcoming: Some(Shortcoming::Interrupted), ..Outcome::of(&Hackbench) },
        ];
        let text = Summary(&outcomes).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..5],
            [
                "== all reports",
                "",
                "            published              ratio proven       here                     ratio proven",
                "profile     30.00 → \"gone\" %           - no runs      -                            - missing",
                "hackbench   17.29 → 4.846 s         3.57 yes          -                            - interrupted",
            ]
        );
        assert!(text.contains("\nprofile: missing on this machine: perf events: sysctl\n"), "{text}");
        assert!(text.ends_with("\nhackbench: interrupted\n"), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 100), "{text}");
    }
}
