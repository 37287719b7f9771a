//! The printed report.

use crate::format::clean;
use crate::table::{TITLES, common_plan, group_lines, lines, ranked};
use std::fmt::{self, Formatter};
use unspin_report::{paragraph, shell_line};
use unspin_results::{CombinedCandidate, CombinedResults};

/// Maximum width of a sentence in columns.
const WIDTH: usize = 100;

/// Prints combined results: the verdict first.
pub struct Text<'a>(pub &'a CombinedResults);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let results = self.0;
        writeln!(f, "{}", clean(&shell_line(&results.command)))?;
        put(f, &format!("Compared: {}", results.summary.compared), 0)?;
        for candidate in &results.candidates {
            put(f, &format!("Proven: {}", candidate.sentence), 0)?;
            if let Some(certainty) = &candidate.certainty {
                put(f, &format!("How sure: {certainty}"), 0)?;
            }
        }
        if let Some(nothing) = results.without_candidates() {
            put(f, &format!("Proven: {nothing}"), 0)?;
        }
        put(f, &results.summary.noise, 0)?;
        results.summary.hosts.iter().try_for_each(|sentence| put(f, sentence, 0))?;
        for candidate in ranked(results) {
            writeln!(f)?;
            write_table(f, results, candidate)?;
            if let Some(sentence) = &candidate.between_hosts {
                put(f, sentence, 0)?;
            }
            for grouping in &candidate.groupings {
                put(f, &grouping.sentence, 2)?;
                group_lines(results, grouping).iter().try_for_each(|line| put(f, line, 4))?;
            }
        }
        if !results.next.is_empty() {
            writeln!(f, "\nWhat to do")?;
        }
        results.next.iter().try_for_each(|step| put(f, step, 2))?;
        let plan = common_plan(results).unwrap_or_default();
        plan.into_iter().try_for_each(|line| writeln!(f, "{}", format!("    {}", clean(line)).trim_end()))
    }
}

fn put(f: &mut Formatter<'_>, sentence: &str, indent: usize) -> fmt::Result {
    f.write_str(&paragraph(sentence, WIDTH, indent))
}

fn write_table(
    f: &mut Formatter<'_>,
    results: &CombinedResults,
    candidate: &CombinedCandidate,
) -> fmt::Result {
    let lines = lines(results, candidate);
    let width = |column: usize| {
        let cells = lines.iter().map(|line| line[column].chars().count());
        cells.chain([TITLES[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..TITLES.len()).map(width).collect();
    let (name, control) = (clean(&candidate.comparison.name), clean(&results.control));
    writeln!(f, "{name}: how many times as good as {control}")?;
    let mut row = |cells: [&str; 7]| {
        // The host and the machine begin at the left; figures end at the right.
        let cells = cells.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            0 | 6 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    row(TITLES)?;
    lines.iter().try_for_each(|line| row(line.each_ref().map(String::as_str)))?;
    put(
        f,
        "ratio: the geometric mean of the rounds' ratios. alone: whether its rounds alone show a difference (a t test, corrected for \
         the number of hosts; the verdict of its own session has stricter rules). weight: its share of the mean.",
        0,
    )
}
