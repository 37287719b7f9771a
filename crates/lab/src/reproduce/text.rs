//! The printed outcome of one report.

use super::evidence::Evidence;
use super::measured::Measured;
use super::outcome::{ReportOutcome, Shortcoming};
use super::place::Place;
use super::published::Published;
use super::row::Row;
use std::fmt::{self, Formatter};
use unspin_launch::machine::Machine;
use unspin_report::next::Next;
use unspin_report::shell_line;
use unspin_trial::LockTables;
use unspin_trial::format::paragraph;

/// Width of a line.
const COLUMNS: usize = 100;
/// Width of the first column.
const LABEL: usize = 42;

/// Prints an outcome within 100 columns; Lockmeter's tables are wider.
pub struct OutcomeText<'o, 'r>(pub &'o ReportOutcome<'r>);

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
            Some(Shortcoming::TooSlow(why)) => {
                let text = format!(
                    "Too slow for the time that there is: {why}. Stop other programs, or leave out --quick"
                );
                writeln!(f, "{}", paragraph(&format!("{text}."), 0))?;
            }
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
        writeln!(f, "{}", paragraph(&not_the_same(outcome), 0))?;
        // Programs in virtual machines are not metered.
        let is_metered = |measured: &&Measured| measured.report.kernels.iter().all(Option::is_none);
        for measured in outcome.measured.iter().filter(is_metered) {
            write!(f, "{}", paragraph(&format!("Locks: {}", measured.experiment.what), 0))?;
            write!(f, "{}", LockTables(&measured.report))?;
        }
        for observed in &outcome.observed {
            write!(f, "{}", paragraph(&format!("Once, {}:", observed.observation.what), 0))?;
            match report.interpretation(observed) {
                Some(text) => text.lines().try_for_each(|line| writeln!(f, "  {line}"))?,
                None => observed.output.trim_end().lines().try_for_each(|line| writeln!(f, "  {line}"))?,
            }
            writeln!(f)?;
        }
        let commands = outcome.measured.iter().map(|m| shell_line(&m.experiment.command.words()));
        let observed = outcome.observed.iter().map(|observed| shell_line(&observed.observation.command));
        // A command has a line of its own, however long: it is to be copied.
        for command in commands.chain(observed) {
            writeln!(f, "Repeat: {command}")?;
        }
        writeln!(f, "Next:")?;
        report.next().iter().try_for_each(|(text, command)| write_next(f, text, command))?;
        writeln!(f)
    }
}

/// The published rows, then those that were measured here.
fn write_table(f: &mut Formatter<'_>, rows: &[Row]) -> fmt::Result {
    writeln!(
        f,
        "{:LABEL$}{:>16}{:>16} {:>5} {:>12} {:>5}",
        "", "before ± sd", "after ± sd", "ratio", "95 %", "runs"
    )?;
    for row in rows {
        let unit = match row.format_unit() {
            unit if unit.is_empty() => String::new(),
            unit => format!(" [{unit}]"),
        };
        let label = format!("{}{unit}", row.label);
        let [before, after, ratio, interval, runs] = row.cells();
        if label.chars().count() >= LABEL {
            writeln!(f, "{label}\n{:LABEL$}{before:>16}{after:>16} {ratio:>5} {interval:>12} {runs:>5}", "")?;
        } else {
            writeln!(f, "{label:LABEL$}{before:>16}{after:>16} {ratio:>5} {interval:>12} {runs:>5}")?;
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
    if evidence.iter().filter(|evidence| evidence.proves_means().is_some()).count() > 1 {
        sentences.push("Corrected: for the number of means that are tested (Holm); it decides.".into());
    }
    for sentence in sentences.iter().map(String::as_str).chain(remarks.iter().copied()) {
        write!(f, "{}", paragraph(sentence, 2))?;
    }
    writeln!(f)
}

fn write_proven(f: &mut Formatter<'_>, outcome: &ReportOutcome<'_>) -> fmt::Result {
    writeln!(f, "What the runs here prove")?;
    for measured in &outcome.measured {
        write!(f, "{}", paragraph(&format!("{}:", measured.experiment.what), 2))?;
        for pair in &measured.pairs {
            write!(f, "{}", paragraph(&pair.sentences(), 4))?;
        }
        if let Some(shortfall) = &measured.report.session.shortfall {
            let experiment = &measured.experiment;
            let command = shell_line(&experiment.command.words_within(&shortfall.option()));
            let text = format!("too few rounds for a proof: {}:", shortfall.finding());
            write_next(f, &text, &command)?;
        }
    }
    writeln!(f)
}

fn write_next(f: &mut Formatter<'_>, text: &str, command: &str) -> fmt::Result {
    let mut lines = String::new();
    Next { text: text.to_owned(), command: Some(command.to_owned()) }.write_under_row(COLUMNS, &mut lines);
    f.write_str(&lines)
}

fn not_the_same(outcome: &ReportOutcome<'_>) -> String {
    let cpus = outcome.published.first().map_or(0, |published| published.cpus as usize);
    let text = outcome.report.not_the_same();
    // It ran elsewhere, and its own text says where.
    if outcome.measured.is_empty() && !outcome.observed.is_empty() {
        return format!("Not the same: {text}.");
    }
    let (here, kernel) = match outcome.measured.first().map(|measured| Place::of(&measured.report)) {
        Some(place) => (place.cpus(), place.kernel()),
        None => {
            let machine = Machine::this();
            (format!("{} CPUs", machine.cpus), format!("Linux {}", machine.kernel))
        }
    };
    let here = match here == format!("{cpus} CPUs") {
        true => format!("{here} as then, but others"),
        false => format!("{here} instead of {cpus}"),
    };
    format!("Not the same: {here}, and {kernel}; {text}.")
}

#[cfg(test)]
mod tests {
    use super::super::figure::Figure;
    use super::super::volano::Volano;
    use super::*;
    use unspin_stats::{Direction, Moments};

    /// Displays what a function writes.
    struct Written<F>(F);

    impl<F: Fn(&mut Formatter<'_>) -> fmt::Result> fmt::Display for Written<F> {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            (self.0)(f)
        }
    }

    fn row(label: &str, unit: &str, before: Figure, after: Figure) -> Row {
        let improvement = super::super::figure::Improvement::of(&before, &after, Direction::LowerIsBetter);
        Row { label: label.into(), unit: unit.into(), before, after, improvement }
    }

    #[test]
    fn table_has_this_layout() {
        let moments =
            |mean, standard_deviation| Figure::Moments(Moments { count: 7, mean, standard_deviation });
        let rows = [
            row("published", "s", Figure::Runs(vec![515.1, 515.4]), Figure::Runs(vec![46.7, 46.7])),
            row(
                "here, 2 CPUs: one lock → RCU",
                "s",
                moments(6.056e-6, 1.358e-6),
                moments(0.4569e-6, 0.1447e-6),
            ),
            row("here", "%", Figure::Single(30.0), Figure::Words("\"gone\"")),
            row(
                "a label that is far too long for its column",
                "CPUs",
                Figure::Single(4.56),
                Figure::Single(0.58),
            ),
            Row::of_one_run("here: of one run each".into(), "CPUs", Direction::LowerIsBetter, [4.56, 0.58]),
            row(
                "published: of ten runs, and of one figure",
                "s",
                Figure::Runs(vec![4.846; 10]),
                Figure::Single(3.9),
            ),
        ];
        let text = Written(|f: &mut Formatter<'_>| write_table(f, &rows)).to_string();
        let expected = "\
                                               before ± sd      after ± sd ratio         95 %  runs
published [s]                                  515.2 ± 0.2    46.70 ± 0.00  11.0  11.0 – 11.1     2
here, 2 CPUs: one lock → RCU [us]            6.056 ± 1.358 0.4569 ± 0.1447  13.3   9.6 – 18.3     7
here [%]                                             30.00          \"gone\"     -            -     -
a label that is far too long for its column [CPUs]
                                                     4.560          0.5800  7.86            -     -
here: of one run each [CPUs]                         4.560          0.5800  7.86            -     1
published: of ten runs, and of one figure [s]
                                             4.846 ± 0.000           3.900  1.24            - 10, -
ratio: how many times as good after is as before; above 1 is better.

";
        // A continued line of a literal loses its leading blanks.
        assert_eq!(text.trim_start(), expected);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn missing_report_names_the_reason_and_shows_what_was_published() {
        let why = "the kernel does not permit it: sysctl kernel.perf_event_paranoid=1";
        let outcome = ReportOutcome {
            shortcoming: Some(Shortcoming::Missing(why.into())),
            ..ReportOutcome::of(&Volano)
        };
        let text = OutcomeText(&outcome).to_string();
        assert!(text.starts_with("== volano: Hartner 2001: "), "{text}");
        assert!(text.contains(&format!("\nMissing on this machine: {why}\n")), "{text}");
        assert!(text.contains("CPUs that runqueue_lock took: cannot be judged"), "{text}");
        assert!(!text.contains("What the runs here prove") && text.contains("\nNext:\n    -> "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}
