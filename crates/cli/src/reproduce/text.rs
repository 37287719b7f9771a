//! The printed outcome of one report.

use super::evidence::Evidence;
use super::outcome::{Outcome, Shortcoming};
use super::published::Published;
use super::row::Row;
use crate::prove::format::paragraph;
use crate::prove::machine::Machine;
use crate::prove::text::LockTables;
use std::fmt::{self, Formatter};
use unspin_meter::shell_line;

/// Width of the first column.
const LABEL: usize = 46;

/// Prints an outcome within 100 columns; Lockmeter's tables are wider.
pub struct OutcomeText<'o, 'r>(pub &'o Outcome<'r>);

impl fmt::Display for OutcomeText<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let outcome = self.0;
        let report = outcome.report;
        writeln!(f, "== {}: {}\n", report.name(), report.title())?;
        let published = outcome.published.iter().map(Row::published);
        write_table(f, &published.chain(outcome.rows()).collect::<Vec<_>>())?;
        write_published(f, &outcome.published, &outcome.evidence, report.remarks())?;
        match &outcome.shortcoming {
            Some(Shortcoming::Missing(why)) => {
                writeln!(f, "{}", paragraph(&format!("Missing on this machine: {why}"), 0))?;
            }
            Some(Shortcoming::Failed(why)) => writeln!(f, "{}", paragraph(&format!("Failed: {why}"), 0))?,
            Some(Shortcoming::Interrupted) => {
                writeln!(f, "Interrupted: the figures here are those of the runs until then.\n")?;
            }
            None => (),
        }
        if outcome.measured.iter().any(|measured| !measured.pairs.is_empty()) {
            write_proven(f, outcome)?;
        }
        for text in report.paragraphs(&outcome.measured) {
            writeln!(f, "{}", paragraph(&text, 0))?;
        }
        write!(f, "{}", paragraph(&format!("The same: {}.", report.same()), 0))?;
        writeln!(f, "{}", paragraph(&not_the_same(&outcome.published, report.not_the_same()), 0))?;
        for measured in &outcome.measured {
            write!(f, "{}", paragraph(&format!("Locks: {}", measured.experiment.what), 0))?;
            write!(f, "{}", LockTables(&measured.report))?;
        }
        let commands = outcome.measured.iter().map(|m| shell_line(&m.experiment.command_line()));
        for command in commands {
            write!(f, "{}", paragraph(&format!("Repeat: {command}"), 0))?;
        }
        writeln!(f, "{}", paragraph(&format!("Next: {}.", report.next()), 0))
    }
}

/// The published rows, then those that were measured here.
fn write_table(f: &mut Formatter<'_>, rows: &[Row]) -> fmt::Result {
    writeln!(
        f,
        "{:LABEL$}{:>15}{:>15} {:>5} {:>12} {:>5}",
        "", "before ± sd", "after ± sd", "ratio", "95 %", "runs"
    )?;
    for row in rows {
        let unit = match row.shown_unit() {
            unit if unit.is_empty() => String::new(),
            unit => format!(" [{unit}]"),
        };
        let label = format!("{}{unit}", row.label);
        let [before, after, ratio, interval, runs] = row.cells();
        if label.chars().count() >= LABEL {
            writeln!(f, "{label}\n{:LABEL$}{before:>15}{after:>15} {ratio:>5} {interval:>12} {runs:>5}", "")?;
        } else {
            writeln!(f, "{label:LABEL$}{before:>15}{after:>15} {ratio:>5} {interval:>12} {runs:>5}")?;
        }
    }
    writeln!(f, "{}", paragraph("ratio: how many times as good after is as before; above 1 is better.", 0))
}

fn write_published(
    f: &mut Formatter<'_>,
    published: &[Published],
    evidence: &[Evidence],
    remarks: &[&str],
) -> fmt::Result {
    writeln!(f, "What the published figures prove")?;
    let mut sources: Vec<&str> = published.iter().map(|published| published.source).collect();
    sources.dedup();
    write!(f, "{}", paragraph(&format!("Source: {}.", sources.join("; ")), 2))?;
    let mut sentences: Vec<String> =
        published.iter().zip(evidence).map(|(published, evidence)| evidence.sentences(published)).collect();
    if let Some(judged) = sentences.iter().filter(|sentence| sentence.contains("Welch")).nth(1) {
        debug_assert!(!judged.is_empty());
        sentences.push("p of several means is corrected (Holm).".into());
    }
    for sentence in sentences.iter().map(String::as_str).chain(remarks.iter().copied()) {
        write!(f, "{}", paragraph(sentence, 2))?;
    }
    writeln!(f)
}

fn write_proven(f: &mut Formatter<'_>, outcome: &Outcome<'_>) -> fmt::Result {
    writeln!(f, "What the runs here prove")?;
    for measured in &outcome.measured {
        write!(f, "{}", paragraph(&format!("{}:", measured.experiment.what), 2))?;
        for pair in &measured.pairs {
            write!(f, "{}", paragraph(&pair.sentences(), 4))?;
        }
        if let Some(shortfall) = &measured.report.session.shortfall {
            write!(f, "{}", paragraph(&format!("The time did not suffice: {}.", shortfall.sentence()), 4))?;
        }
    }
    writeln!(f)
}

fn not_the_same(published: &[Published], text: &str) -> String {
    let machine = Machine::this();
    let cpus = published.first().map_or(0, |published| published.cpus);
    let here = if machine.cpus == cpus as usize {
        format!("{cpus} CPUs as then, but others")
    } else {
        format!("{} CPUs instead of {cpus}", machine.cpus)
    };
    format!("Not the same: {here}, and Linux {}; {text}.", machine.kernel)
}
