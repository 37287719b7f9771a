//! The layout of 2001: `lockstat` 1.4.11's table of spin locks, byte for byte in its number formats.

use crate::figures::{lockmeter_time, percent};
use crate::report::Report;
use crate::row::Row;
use std::fmt::Write;

const HEADER: &str = "\
SPINLOCKS         HOLD            WAIT
  UTIL  CON    MEAN(  MAX )   MEAN(  MAX )(% CPU)     TOTAL NOWAIT SPIN RJECT  NAME
";

impl Report {
    /// The table as Lockmeter printed it, with its arithmetic: the mean hold divides by all attempts, refused
    /// ones included; the mean wait by those who waited and got the lock. It has no column for sleepers: they
    /// are in SPIN. Locks are sorted by time lost, which the original could not.
    pub fn lockmeter(&self) -> String {
        let mut text = format!("{HEADER}\n{}\n", line(&self.total, Level::Total));
        for lock in &self.locks {
            let _ = write!(text, "\n{}\n", line(&lock.row, Level::Lock));
            for caller in &lock.callers {
                let _ = writeln!(text, "{}", line(caller, Level::Caller));
            }
        }
        text
    }
}

/// What a row is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    Total,
    Lock,
    Caller,
}

pub(crate) fn line(row: &Row, level: Level) -> String {
    let share = |part: u64| percent(row.share(part));
    format!(
        "{} {}{}{} {:9} {} {} {}{}  {}",
        if level == Level::Total { " ".repeat(6) } else { format!(" {}", percent(row.util)) },
        percent(row.con),
        hold(row),
        wait(row),
        row.attempts,
        share(row.nowait),
        share(row.spun.saturating_add(row.slept)),
        share(row.rejected),
        if level == Level::Caller { "  " } else { "" },
        row.name
    )
}

fn hold(row: &Row) -> String {
    if row.hold == 0.0 || row.attempts == 0 {
        return " ".repeat(15);
    }
    format!(" {}({})", lockmeter_time(row.hold / row.attempts as f64), lockmeter_time(row.hold_max))
}

fn wait(row: &Row) -> String {
    let waiters = row.spun.saturating_add(row.slept);
    if row.lost == 0.0 || waiters == 0 {
        return format!("    0us{}", " ".repeat(15));
    }
    let mean = lockmeter_time(row.lost / waiters as f64);
    format!(" {mean}({})({})", lockmeter_time(row.wait_max), percent(row.spin_cpu))
}
