//! The table of all reports.

use super::outcome::{ReportOutcome, Shortcoming};
use super::row::Row;
use std::fmt::{self, Formatter};
use unspin_trial::format::paragraph;

/// Prints two sentences on each report, a row for each report, one for each further experiment, and what is missing.
pub struct Summary<'o, 'r>(pub &'o [ReportOutcome<'r>]);

/// A row of the table.
#[derive(Default)]
struct Line {
    name: String,
    /// Both published sides, their ratio, and whether that is proven.
    published: [String; 3],
    /// What was measured here, in the columns of the published figures.
    here: [String; 3],
}

impl Line {
    /// The report's own figure, and a line for each experiment with another first pair.
    fn all_of(outcome: &ReportOutcome<'_>) -> Vec<Line> {
        let published = outcome.published.first().map(Row::published);
        let proven = outcome.evidence.first().map_or("-", |evidence| evidence.in_brief());
        let rows = outcome.rows();
        let first = rows.first();
        let mut lines = vec![Line {
            name: outcome.report.name().to_owned(),
            published: cells(published.as_ref(), proven),
            here: cells(first, outcome.in_brief()),
        }];
        let experiments = outcome.measured.iter().filter_map(|measured| {
            let pair = measured.pairs.first()?;
            Some((measured.experiment.in_brief, &pair.row, pair.in_brief()))
        });
        lines.extend(further(first, experiments));
        lines
    }
}

/// A line for each experiment, with its name, first row and verdict. The experiment of the first line is left out.
fn further<'a>(
    first: Option<&Row>,
    experiments: impl Iterator<Item = (&'a str, &'a Row, &'a str)>,
) -> Vec<Line> {
    experiments
        .filter(|(_, row, _)| Some(*row) != first)
        .map(|(name, row, proven)| Line {
            name: format!("  {name}"),
            here: cells(Some(row), proven),
            ..Line::default()
        })
        .collect()
}

/// What was reported, and what was measured here.
fn sentences(outcome: &ReportOutcome<'_>) -> String {
    let here: Vec<&str> = outcome.measured.iter().map(|measured| measured.experiment.what).collect();
    let here = match here.is_empty() {
        true => "Nothing was measured here, as the line below the table says".to_owned(),
        false => format!("Measured here: {}", here.join("; ")),
    };
    format!("{}: {}. {here}.", outcome.report.name(), outcome.report.title())
}

fn cells(row: Option<&Row>, proven: &str) -> [String; 3] {
    match row {
        Some(row) => [row.in_brief(), row.format_improvement().0, proven.to_owned()],
        None => ["-".into(), "-".into(), proven.to_owned()],
    }
}

impl fmt::Display for Summary<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "== all reports\n")?;
        for outcome in self.0 {
            write!(f, "{}", paragraph(&sentences(outcome), 0))?;
        }
        writeln!(f)?;
        let heads = Line {
            name: String::new(),
            published: ["published", "ratio", "proven"].map(String::from),
            here: ["here", "ratio", "proven"].map(String::from),
        };
        for line in [heads].into_iter().chain(self.0.iter().flat_map(Line::all_of)) {
            let Line { name, published: [a, b, c], here: [d, e, g] } = line;
            writeln!(f, "{name:12} {a:22} {b:>5} {c:12} {d:24} {e:>5} {g}")?;
        }
        writeln!(f)?;
        let text = "proven: a difference of the means, at 5 %. \"spread only\": of the standard deviations. \"no runs\": the report \
                    states no runs, so nothing can be judged. \"one run\": figures of one metered run each are not judged. The \
                    machines differ, so compare ratios, not seconds.";
        writeln!(f, "{}", paragraph(text, 0))?;
        for outcome in self.0 {
            let name = outcome.report.name();
            let line = match &outcome.shortcoming {
                Some(Shortcoming::Missing(why)) => format!("{name}: missing on this machine: {why}"),
                Some(Shortcoming::Failed(why)) => format!("{name}: failed: {why}"),
                Some(Shortcoming::TooSlow(why)) => format!("{name}: too slow: {why}"),
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
    use unspin_stats::Direction;

    #[test]
    fn each_experiment_has_its_verdict() {
        let row = |values| Row::of_one_run("here".into(), "s", Direction::LowerIsBetter, values);
        let (load, lock) = (row([9.0, 6.0]), row([4.0, 1.0]));
        let experiments = [("the load", &load, "no"), ("lock alone", &lock, "yes")];
        let lines = further(Some(&load), experiments.into_iter());
        let shown: Vec<(&str, &[String; 3])> = lines.iter().map(|l| (l.name.as_str(), &l.here)).collect();
        assert_eq!(shown, [("  lock alone", &["4.000 → 1.000 s".into(), "4.00".into(), "yes".into()])]);
    }

    #[test]
    fn table_has_a_row_for_each_report_and_names_what_is_missing() {
        let missing = Some(Shortcoming::Missing("perf events: sysctl".into()));
        let outcomes = [
            ReportOutcome { shortcoming: missing, ..ReportOutcome::of(&Profile) },
            ReportOutcome { shortcoming: Some(Shortcoming::Interrupted), ..ReportOutcome::of(&Hackbench) },
        ];
        let text = Summary(&outcomes).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["== all reports", ""]);
        assert!(lines[2].starts_with("profile: Hartner 2002: which share of the CPUs"), "{text}");
        let table = lines.iter().position(|line| line.trim_start().starts_with("published")).unwrap();
        assert_eq!(
            lines[table - 1..table + 3],
            [
                "",
                "             published              ratio proven       here                     ratio proven",
                "profile      30.00 → \"gone\" %           - no runs      -                            - missing",
                "hackbench    17.29 → 4.846 s         3.57 yes          -                            - interrupted",
            ]
        );
        assert!(text.contains("\nprofile: missing on this machine: perf events: sysctl\n"), "{text}");
        assert!(text.ends_with("\nhackbench: interrupted\n"), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 100), "{text}");
    }
}
