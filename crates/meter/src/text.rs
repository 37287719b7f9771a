//! Our own layout: Lockmeter's columns with sleeping apart and the losses first, at most 120 columns wide.

use crate::figures::{count, number, percent, time};
use crate::lockmeter::Level;
use crate::report::Report;
use crate::row::Row;
use std::fmt::{self, Write};

pub(crate) const HEADER: &str = "                                HOLD         WAIT
  LOST  CEIL  CPUS  UTIL   CON  MEAN(  MAX)  MEAN(  MAX)(% CPU)     TOTAL NOWAIT SPIN SLEPT RJECT  NAME
";

/// Columns before the name.
const NAME_AT: usize = 100;
/// Columns in all.
const WIDTH: usize = 120;

/// The table with what belongs to it: the time metered, the worst lock in a sentence, the event counts, and
/// what was not recorded.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpus = self.cpus;
        writeln!(
            f,
            "Locks over {} on {cpus} {}",
            time(self.seconds),
            if cpus == 1 { "CPU" } else { "CPUs" }
        )?;
        if self.locks.is_empty() {
            writeln!(f, "No lock was recorded.")?;
        } else {
            f.write_str(&self.table())?;
        }
        footer(self, f)
    }
}

impl Report {
    /// The table alone, in our own layout.
    pub fn table(&self) -> String {
        let mut text = format!("{HEADER}\n{}\n", line(&self.total, &self.total.name, Level::Total));
        for lock in &self.locks {
            let name = match lock.locks {
                1 => lock.row.name.clone(),
                n => format!("({n}) {}", lock.row.name),
            };
            let _ = write!(text, "\n{}\n", line(&lock.row, &name, Level::Lock));
            for caller in &lock.callers {
                let _ = writeln!(text, "{}", line(caller, &caller.name, Level::Caller));
            }
        }
        text
    }
}

fn footer(report: &Report, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(worst) = report.locks.first().filter(|lock| lock.row.lost > 0.0) {
        writeln!(f, "\n{}", worst.headline(report.cpus))?;
    }
    if !report.events.is_empty() {
        writeln!(f, "\nCounted beside:")?;
    }
    for event in &report.events {
        writeln!(f, "{:>12} {}", count(event.count), event.event.name())?;
    }
    let missing = report.unrecorded;
    if !missing.is_nothing() {
        writeln!(f, "\nNot recorded, so that the true figures are higher:")?;
    }
    for (n, what) in [
        (missing.overflowed, "samples for whose locks and callers there was no memory"),
        (missing.threads, "threads for which no table was left, with all they did"),
    ] {
        if n > 0 {
            writeln!(f, "{:>12} {what}", count(n))?;
        }
    }
    Ok(())
}

/// One row under the name `name`.
pub(crate) fn line(row: &Row, name: &str, level: Level) -> String {
    let share = |part: u64| percent(row.share(part));
    let (indent, totals) = match level {
        Level::Total => (2, false),
        Level::Lock => (2, true),
        Level::Caller => (4, true),
    };
    let blank_on_total = |text: String| if totals { text } else { String::new() };
    format!(
        "{:>6} {:>4}x {:>5} {:>5} {} {:>5}({:>5}) {:>5}({:>5})({}) {:>10} {} {} {} {}{:indent$}{}",
        time(row.lost),
        number(row.ceiling),
        blank_on_total(number(row.cpus)),
        blank_on_total(percent(row.util)),
        percent(row.con),
        time(row.hold_mean),
        time(row.hold_max),
        time(row.wait_mean),
        time(row.wait_max),
        percent(row.spin_cpu),
        count(row.attempts),
        share(row.nowait),
        share(row.spun),
        share(row.slept),
        share(row.rejected),
        "",
        fitted(name, WIDTH - NAME_AT + 2 - indent),
    )
}

/// The name, its end cut off where it is too long.
fn fitted(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.into();
    }
    name.chars().take(width - 1).chain(['…']).collect()
}
