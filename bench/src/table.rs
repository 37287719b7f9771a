//! The table, at most 100 columns wide, and the document with everything in it.

use crate::figure::{Figure, Measured, Reached, RowOutcome, Runs};
use crate::plan::Wanted;
use crate::quantity;
use crate::session::{BenchSession, Validity};
use crate::{locks, meter, runqueue, waits};
use serde::Serialize;
use std::fmt::Write;
use unspin_launch::machine::floor::Floor;

/// What `--json` writes.
#[derive(Serialize)]
pub struct Document<'a> {
    /// Conditions.
    pub session: &'a BenchSession,
    /// Rows, with all runs.
    pub figures: &'a [Figure],
    /// The meter's rows.
    pub meter: &'a [quantity::QuantityFigure],
    /// The locks' rows.
    pub locks: &'a [quantity::QuantityFigure],
    /// The waits' rows.
    pub waits: &'a [quantity::QuantityFigure],
    /// The run queues' rows.
    pub runqueue: &'a [quantity::QuantityFigure],
}

/// Columns of the widest line.
pub const WIDTH: usize = 100;

/// The table.
pub fn text(document: &Document<'_>) -> String {
    let mut text = header(document.session);
    if !document.figures.is_empty() {
        text += &engines(document.figures);
    }
    if !document.meter.is_empty() {
        text += &quantity::table::text(meter::HEADING, meter::LEGEND, document.meter);
    }
    if !document.locks.is_empty() {
        text += &quantity::table::text(locks::HEADING, locks::LEGEND, document.locks);
    }
    if !document.waits.is_empty() {
        text += &quantity::table::text(waits::HEADING, waits::LEGEND, document.waits);
    }
    if !document.runqueue.is_empty() {
        text += &quantity::table::text(runqueue::HEADING, runqueue::LEGEND, document.runqueue);
    }
    text
}

fn engines(figures: &[Figure]) -> String {
    let mut text = String::from(
        "\nkernel: without the preload; control: engine kernel, through the same hooks.\n\
         Ratio: how many times as good as the other side rcu is; ?: the interval holds what is wanted.\n",
    );
    let _ = writeln!(
        text,
        "\n{:<42}{:>19}{:>8}{:>8}{:>12}{:>8}",
        "median of all repetitions", "against", "rcu", "ratio", "95 %", "wanted"
    );
    let _ = writeln!(text, "{}", "-".repeat(WIDTH));
    for figure in figures {
        let name = format!("{}, {}", figure.name, figure.unit);
        match &figure.outcome {
            RowOutcome::Measured(measured) => row(&mut text, &name, measured),
            RowOutcome::Skipped(reason) => {
                let _ = writeln!(text, "{name:<42}skipped: {reason}");
            }
        }
    }
    text
}

fn header(session: &BenchSession) -> String {
    let c = &session.conditions;
    let claims = match session.claims {
        Validity::Valid => "",
        Validity::TooShort => "\nToo short to claim anything.",
    };
    format!(
        "{}, {} CPUs, Linux {}; {}\n{}\n{}\n\
         {} repetitions of everything in random order; meanwhile other programs took {:.0} % of the CPUs,\n\
         the hypervisor {:.0} %.{claims}\n",
        c.machine.processor,
        c.machine.cpus,
        c.machine.kernel,
        c.unspin,
        c.command,
        floor(&c.floor),
        session.repetitions,
        c.others_percent,
        c.steal_percent,
    )
}

/// In lines of the table's width.
fn floor(floor: &Floor) -> String {
    let mut text = String::new();
    let mut width = 0;
    for part in format!("floor: {floor}").split_inclusive(", ") {
        if width + part.trim_end().len() > WIDTH {
            text.truncate(text.trim_end().len());
            text.push_str("\n    ");
            width = 4;
        }
        text.push_str(part);
        width += part.len();
    }
    text + "\n"
}

fn row(text: &mut String, name: &str, m: &Measured) {
    let against = format!("{} {}", m.against.name, number(m.against.median));
    let interval = format!("{}-{}", number(m.ratio.lower), number(m.ratio.upper));
    let (first, more) =
        m.wanted.split_first().map_or(("".into(), &[][..]), |(w, more)| (format_wanted(w), more));
    let _ = writeln!(
        text,
        "{name:<42}{against:>19}{:>8}{:>8}{interval:>12}  {first}",
        number(m.ours.median),
        format!("{}x", number(m.ratio.value)),
    );
    let others = m.others.iter().map(|Runs { name, median, .. }| format!("{name} {}", number(*median)));
    let spread = format!("the ratio varies by {:.0} %", 100.0 * m.spread);
    let notes: Vec<String> = others.chain([spread]).chain(more.iter().map(format_wanted)).collect();
    let _ = writeln!(text, "    {}", notes.join(" · "));
}

fn format_wanted((wanted, reached): &(Wanted, Reached)) -> String {
    let wanted = match wanted {
        Wanted::AtLeast(times) => format!("{}x", number(*times)),
        Wanted::Aim(times) => format!("aim {}x", number(*times)),
        Wanted::NotWorse => "not worse".into(),
    };
    verdict(wanted, *reached)
}

/// What was wanted, and whether it is reached.
pub fn verdict(wanted: String, reached: Reached) -> String {
    match reached {
        Reached::Yes => format!("{wanted} yes"),
        Reached::No => format!("{wanted} no"),
        Reached::Undecided => format!("{wanted} ?"),
        Reached::Unclaimed => wanted,
    }
}

/// Three digits that count.
pub fn number(value: f64) -> String {
    match value {
        v if v.abs() >= 99.95 => format!("{v:.0}"),
        v if v.abs() >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([0.671, 1.0, 9.999, 31.25, 271.8].map(number), ["0.67", "1.00", "10.0", "31.2", "272"]);
    }
}
