//! The staircase of Rostedt 2008 as a table.

use super::super::format::{Scale, paragraph};
use super::super::report::Report;
use super::super::staircase::{Level, Staircase};
use super::cells::{interval, mean_and_sd};
use super::head;
use std::fmt::{self, Formatter};
use unspin_stats::Ratio;

/// The figures of the original report: the means of ten runs of `hackbench 50`.
const ROSTEDT_2008: &str = "Rostedt 2008 (lateral stealing and adaptive spinning), 50 groups on 4 CPUs: strict order \
                            17.3 s, with stealing 8.1 s (2.13 times), with adaptive spinning 4.8 s (1.68 times, 3.57 \
                            in all), vanilla 3.9 s. No verdict counts this table.";

/// Prints the table, if there is one.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let Some(staircase) = &report.staircase else { return Ok(()) };
    let analysis = &report.session.analysis;
    let typical = analysis.control_summary.as_ref().map_or(1.0, |s| s.mean);
    let scale = Scale::new(typical, &analysis.metric.unit);
    let unit = if scale.unit.is_empty() { String::new() } else { format!(" [{}]", scale.unit) };
    writeln!(f, "The staircase: how many times as good each step is")?;
    writeln!(
        f,
        "{:15} {:>19}  {:>28}  {:>28}",
        "",
        format!("mean ± sd{unit}"),
        "than the step before",
        format!("than {}, vanilla", analysis.control)
    )?;
    for level in &staircase.beside {
        write_level(f, level, &scale)?;
    }
    for level in &staircase.steps {
        write_level(f, level, &scale)?;
    }
    write!(f, "{}", paragraph(&whole(staircase), 0))?;
    writeln!(f, "{}", paragraph(ROSTEDT_2008, 0))
}

fn write_level(f: &mut Formatter<'_>, level: &Level, scale: &Scale) -> fmt::Result {
    writeln!(
        f,
        "{} {:>19}  {:>28}  {:>28}",
        head(&level.name),
        level.summary.as_ref().map_or("-".into(), |s| mean_and_sd(s, scale)),
        level.to_before.map_or("-".into(), times),
        level.to_control.map_or("-".into(), times),
    )
}

fn whole(staircase: &Staircase) -> String {
    match (&staircase.steps[..], staircase.whole) {
        ([first, .., last], Some(ratio)) => {
            format!("From {} to {} in all: {}.", first.name, last.name, times(ratio))
        }
        _ => String::new(),
    }
}

fn times(ratio: Ratio) -> String {
    format!("{} times ({})", ratio.shown().0, interval(ratio))
}
