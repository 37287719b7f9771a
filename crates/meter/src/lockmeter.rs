//! The layout of 2001: `lockstat` 1.4.11's tables, byte for byte in their number formats.

use crate::figures::{lockmeter_time, percent};
use crate::kind::Kind;
use crate::lock::Use;
use crate::report::Report;
use crate::row::Row;
use std::fmt::Write;

const SPINLOCKS: &str = "\
SPINLOCKS         HOLD            WAIT
  UTIL  CON    MEAN(  MAX )   MEAN(  MAX )(% CPU)     TOTAL NOWAIT SPIN RJECT  NAME
";
const READS: &str = "\
RWLOCK READS   HOLD    MAX  RDR BUSY PERIOD      WAIT
  UTIL  CON    MEAN   RDRS   MEAN(  MAX )   MEAN(  MAX )( %CPU)     TOTAL NOWAIT SPIN  NAME
";
const WRITES: &str = "\
RWLOCK WRITES     HOLD           WAIT (ALL)           WAIT (WW)
  UTIL  CON    MEAN(  MAX )   MEAN(  MAX )( %CPU)   MEAN(  MAX )     TOTAL NOWAIT SPIN(  WW )  NAME
";

impl Report {
    /// The tables as Lockmeter printed them, with its arithmetic: the mean hold divides by all attempts, refused
    /// ones included; the mean wait by those who waited and got the lock. It has no column for sleepers: they
    /// are in SPIN. Locks are sorted by time lost, which the original could not.
    ///
    /// Locks for reading and writing have sections of their own, if there are any. What is not recorded is blank there: the
    /// most readers at a time and the mean length of a time with readers, and whom a writer waited for.
    pub fn lockmeter(&self) -> String {
        let exclusive = |kind: Kind| !matches!(kind, Kind::Read | Kind::Write);
        let mut text = self.section(SPINLOCKS, &self.totals.exclusive, exclusive, line);
        let rw = |wanted: Kind| self.locks.iter().any(|lock| lock.use_as(wanted).is_some());
        for (header, total, kind, line) in [
            (READS, &self.totals.reads, Kind::Read, read_line as Line),
            (WRITES, &self.totals.writes, Kind::Write, write_line as Line),
        ] {
            if rw(kind) {
                text += "\n";
                text += &self.section(header, total, |k| k == kind, line);
            }
        }
        text
    }

    fn section(&self, header: &str, total: &Row, wanted: impl Fn(Kind) -> bool, line: Line) -> String {
        let mut text = format!("{header}\n{}\n", line(total, None, Level::Total));
        for lock in &self.locks {
            let uses: Vec<&Use> = lock.uses.iter().filter(|one| wanted(one.kind)).collect();
            if uses.len() > 1 && uses.len() == lock.uses.len() {
                // A mutex, and the same after waits for a condition.
                let _ = write!(text, "\n{}\n", line(&lock.row, None, Level::Lock));
                callers(&mut text, &uses, line);
                continue;
            }
            for one in uses {
                let _ = write!(text, "\n{}\n", line(&one.row, Some(one), Level::Lock));
                callers(&mut text, &[one], line);
            }
        }
        text
    }
}

fn callers(text: &mut String, uses: &[&Use], line: Line) {
    for caller in uses.iter().flat_map(|one| &one.callers) {
        let _ = writeln!(text, "{}", line(&caller.row, None, Level::Caller));
    }
}

/// What a row is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    Total,
    Lock,
    Caller,
}

type Line = fn(&Row, Option<&Use>, Level) -> String;

/// A line of the first section.
pub(crate) fn line(row: &Row, _: Option<&Use>, level: Level) -> String {
    format!(
        "{} {}{}{} {:9} {} {} {}{}",
        util(row, level != Level::Total),
        percent(row.con),
        hold(row),
        wait(row),
        row.attempts,
        percent(row.share(row.nowait)),
        percent(row.share(row.spun.saturating_add(row.slept))),
        percent(row.share(row.rejected)),
        name(row, level)
    )
}

fn read_line(row: &Row, of: Option<&Use>, level: Level) -> String {
    let busy = match of.filter(|_| level == Level::Lock) {
        // 8 columns for the mean hold, 7 for the number of readers, 6 for the mean busy time.
        Some(one) => format!(
            "{:6.1}us{}({})",
            f64::from((row.hold * 1e6 / row.attempts.max(1) as f64) as f32),
            " ".repeat(13),
            lockmeter_time(one.busy_max)
        ),
        None => " ".repeat(29),
    };
    format!(
        "{} {}{busy}{} {:9} {} {}{}",
        util(row, level == Level::Lock),
        percent(row.con),
        wait(row),
        row.attempts,
        percent(row.share(row.nowait)),
        percent(row.share(row.spun.saturating_add(row.slept))),
        name(row, level)
    )
}

fn write_line(row: &Row, _: Option<&Use>, level: Level) -> String {
    format!(
        "{} {}{}{}{} {:9} {} {}{}{}",
        util(row, level != Level::Total),
        percent(row.con),
        hold(row),
        wait(row),
        " ".repeat(15),
        row.attempts,
        percent(row.share(row.nowait)),
        percent(row.share(row.spun.saturating_add(row.slept))),
        " ".repeat(7),
        name(row, level)
    )
}

/// The utilisation, or blanks where it means nothing.
fn util(row: &Row, means_something: bool) -> String {
    if means_something { format!(" {}", percent(row.util)) } else { " ".repeat(6) }
}

fn name(row: &Row, level: Level) -> String {
    format!("{}  {}", if level == Level::Caller { "  " } else { "" }, row.name)
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
