//! Rows as text.

use super::figure::{MeasuredQuantity, QuantityFigure, QuantityOutcome};
use super::row::Bound;
use crate::table::{WIDTH, number, verdict};
use std::fmt::Write;

/// The rows, under a heading of their own.
pub fn text(heading: &str, legend: &str, figures: &[QuantityFigure]) -> String {
    let mut text = format!(
        "\n{legend}\nThe interval holds the median in 95 of 100 such tables; ?: and what is wanted, too.\n",
    );
    let _ = writeln!(text, "{heading:<64}{:>9}{:>16}  wanted", "", "95 %");
    let _ = writeln!(text, "{}", "-".repeat(WIDTH));
    for figure in figures {
        let name = match figure.unit {
            "" | "rdtsc" | "times" => figure.name.clone(),
            unit => format!("{}, {unit}", figure.name),
        };
        match &figure.outcome {
            QuantityOutcome::Measured(measured) => row(&mut text, &name, measured),
            QuantityOutcome::Skipped(reason) => {
                let _ = writeln!(text, "{name:<64}\n    not measured: {reason}");
            }
        }
    }
    text
}

fn row(text: &mut String, name: &str, m: &MeasuredQuantity) {
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
    let remarks = m.notes.iter().map(|r| format!("{} {}{}", r.name, number(r.median), r.unit));
    lines(text, remarks);
}

/// Remarks one after another, on as many lines as they take.
fn lines(text: &mut String, remarks: impl Iterator<Item = String>) {
    let mut line = String::new();
    for remark in remarks {
        if !line.is_empty() && line.chars().count() + 3 + remark.chars().count() > WIDTH {
            let _ = writeln!(text, "{line}");
            line.clear();
        }
        line += if line.is_empty() { "    " } else { " · " };
        line += &remark;
    }
    if !line.is_empty() {
        let _ = writeln!(text, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_the_table() {
        let mut text = String::new();
        lines(&mut text, (0..20).map(|n| format!("a remark of some length {n}")));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(text.matches("remark").count(), 20);
    }
}
