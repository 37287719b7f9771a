//! The meter's rows as text.

use super::figure::{Figure, Measured, Outcome};
use super::plan::Bound;
use crate::table::{WIDTH, number, verdict};
use std::fmt::Write;

/// The rows, under a heading of their own.
pub fn text(figures: &[Figure]) -> String {
    let mut text =
        format!("\n{:<64}{:>9}{:>14}{:>9}\n", "the meter: median of all repetitions", "", "95 %", "wanted");
    let _ = writeln!(text, "{}", "-".repeat(WIDTH));
    for figure in figures {
        let name = match figure.unit {
            "" | "rdtsc" | "times" => figure.name.clone(),
            unit => format!("{}, {unit}", figure.name),
        };
        match &figure.outcome {
            Outcome::Measured(measured) => row(&mut text, &name, measured),
            Outcome::Skipped(reason) => {
                let _ = writeln!(text, "{name:<64}\n    not measured: {reason}");
            }
        }
    }
    text
}

fn row(text: &mut String, name: &str, m: &Measured) {
    let interval = match m.interval {
        Some((lower, upper)) => format!("{} to {}", number(lower), number(upper)),
        None if m.values.len() == 1 => "one run".into(),
        None => String::new(),
    };
    let wanted = m.wanted.map_or(String::new(), |(bound, reached)| {
        let bound = match bound {
            Bound::AtMost(most) => format!("{most}"),
            Bound::AtLeast(least) => format!("{least}"),
        };
        verdict(bound, reached)
    });
    let _ = writeln!(text, "{name:<64}{:>9}{interval:>16}  {wanted}", number(m.median));
    let notes: Vec<String> =
        m.notes.iter().map(|(name, median, unit)| format!("{name} {}{unit}", number(*median))).collect();
    if !notes.is_empty() {
        let _ = writeln!(text, "    {}", notes.join(" · "));
    }
}
