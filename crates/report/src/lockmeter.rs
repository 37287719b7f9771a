//! The layout of 2001: the tables of `lockstat` 1.4.11, with number formats that are equal byte for byte.

use crate::figures::Percent::Lockmeter;
use crate::figures::lockmeter_time;
use crate::lock::LockUse;
use crate::report::MeterReport;
use crate::row::Row;
use std::fmt::Write;
use unspin_wire::RecordKind;

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

impl MeterReport {
    /// The tables as Lockmeter printed them, with its arithmetic. The mean hold divides by all attempts, refused ones
    /// included. The mean wait divides by the attempts that waited and got the lock. There is no column for sleeping;
    /// it is included in SPIN. Locks are sorted by time lost, an order that the original did not have.
    ///
    /// Locks for reading and writing have sections of their own, if there are any. Values that are not recorded are
    /// blank: the maximum number of readers at a time, and whether a writer waited for readers or for a writer.
    pub fn lockmeter(&self) -> String {
        let exclusive = |kind: RecordKind| !matches!(kind, RecordKind::Read | RecordKind::Write);
        let mut text = self.section(SPINLOCKS, &self.totals.exclusive, exclusive, line);
        let rw = |wanted: RecordKind| self.locks.iter().any(|lock| lock.use_as(wanted).is_some());
        for (header, total, kind, line) in [
            (READS, &self.totals.reads, RecordKind::Read, read_line as LineFormat),
            (WRITES, &self.totals.writes, RecordKind::Write, write_line as LineFormat),
        ] {
            if rw(kind) {
                text += "\n";
                text += &self.section(header, total, |k| k == kind, line);
            }
        }
        text
    }

    fn section(
        &self,
        header: &str,
        total: &Row,
        wanted: impl Fn(RecordKind) -> bool,
        line: LineFormat,
    ) -> String {
        let mut text = format!("{header}\n{}\n", line(total, None, LineLevel::Total));
        for lock in &self.locks {
            let uses: Vec<&LockUse> = lock.uses.iter().filter(|one| wanted(one.kind)).collect();
            if uses.len() > 1 && uses.len() == lock.uses.len() {
                // First acquisitions of a mutex, and those after waits for a condition.
                let _ = write!(text, "\n{}\n", line(&lock.row, None, LineLevel::Lock));
                callers(&mut text, &uses, line);
                continue;
            }
            for one in uses {
                let _ = write!(text, "\n{}\n", line(&one.row, Some(one), LineLevel::Lock));
                callers(&mut text, &[one], line);
            }
        }
        text
    }
}

fn callers(text: &mut String, uses: &[&LockUse], line: LineFormat) {
    for caller in uses.iter().flat_map(|one| &one.callers) {
        let _ = writeln!(text, "{}", line(&caller.row, None, LineLevel::Caller));
    }
}

/// The level of a row within its table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LineLevel {
    Total,
    Lock,
    Caller,
}

type LineFormat = fn(&Row, Option<&LockUse>, LineLevel) -> String;

/// A line of the first section.
pub(crate) fn line(row: &Row, _: Option<&LockUse>, level: LineLevel) -> String {
    format!(
        "{} {}{}{} {:9} {} {} {}{}",
        util(row, level != LineLevel::Total),
        Lockmeter.of(row.con),
        hold(row),
        wait(row),
        row.attempts,
        Lockmeter.of(row.share(row.nowait)),
        Lockmeter.of(row.share(row.spun.saturating_add(row.slept))),
        Lockmeter.of(row.share(row.rejected)),
        name(row, level)
    )
}

fn read_line(row: &Row, of: Option<&LockUse>, level: LineLevel) -> String {
    let busy = match of.filter(|_| level == LineLevel::Lock) {
        // 8 columns for the mean hold, 7 for the number of readers.
        Some(one) => format!(
            "{:6.1}us{}{}({})",
            f64::from((row.hold * 1e6 / row.attempts.max(1) as f64) as f32),
            " ".repeat(7),
            lockmeter_time(one.busy_mean),
            lockmeter_time(one.busy_max)
        ),
        None => " ".repeat(29),
    };
    format!(
        "{} {}{busy}{} {:9} {} {}{}",
        util(row, level == LineLevel::Lock),
        Lockmeter.of(row.con),
        wait(row),
        row.attempts,
        Lockmeter.of(row.share(row.nowait)),
        Lockmeter.of(row.share(row.spun.saturating_add(row.slept))),
        name(row, level)
    )
}

fn write_line(row: &Row, _: Option<&LockUse>, level: LineLevel) -> String {
    format!(
        "{} {}{}{}{} {:9} {} {}{}{}",
        util(row, level != LineLevel::Total),
        Lockmeter.of(row.con),
        hold(row),
        wait(row),
        " ".repeat(15),
        row.attempts,
        Lockmeter.of(row.share(row.nowait)),
        Lockmeter.of(row.share(row.spun.saturating_add(row.slept))),
        " ".repeat(7),
        name(row, level)
    )
}

/// The utilisation, or blanks if it has no meaning for the row.
fn util(row: &Row, means_something: bool) -> String {
    if means_something { format!(" {}", Lockmeter.of(row.util)) } else { " ".repeat(6) }
}

fn name(row: &Row, level: LineLevel) -> String {
    format!("{}  {}", if level == LineLevel::Caller { "  " } else { "" }, row.name)
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
    format!(" {mean}({})({})", lockmeter_time(row.wait_max), Lockmeter.of(row.spin_cpu))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sum::Sum;
    use unspin_wire::{Counts, Record, Window};

    /// Rows printed by Linux machines from 2001 to 2004.
    const READ_LOCK: &str = " 0.12% 0.47%   4.2us     2  4.2us(  71ms)   39us(1223us)(0.00%)    114236 99.5% 0.47%  tasklist_lock";
    const READ_CALLER: &str = "          0%                                 0us                       14  100%    0%    do_select+0x28";
    const READ_TOTAL: &str =
        "       0.50%                               3.7us( 199us)(0.01%)   5940740 99.5% 0.50%  *TOTAL*";
    const WRITE_LOCK: &str = " 69.2% 0.00%   19us(  12ms)   11us(  52us)(0.00%)  1.9us( 2.3us)  12058253  100% \
                              0.00%(0.00%)  hash_table_lock";
    const WRITE_CALLER: &str = "  1.8%    0%  1.3us(  49us)    0us                   0us           4753020  100%    \
                                0%(   0%)    __invalidate_buffers+0x270";

    /// Columns of the maximum number of readers at a time: not recorded.
    const READERS: [(usize, usize); 1] = [(20, 27)];
    /// Columns of writers' waits for writers: not recorded separately.
    const WRITERS: [(usize, usize); 2] = [(49, 64), (86, 93)];

    fn without(columns: &[(usize, usize)], line: &str) -> String {
        let mut line = line.to_string();
        for (from, to) in columns {
            line.replace_range(from..to, &" ".repeat(to - from));
        }
        line
    }

    /// A use with times in nanoseconds.
    fn one(kind: RecordKind, name: &str, counts: Counts, seconds: f64) -> LockUse {
        let window = Window { seconds, cpus: 4, ticks_per_second: 1e9, cpu_seconds: None };
        let sum = Sum::of(kind, &Record { counts, ..Record::default() });
        let busy_max = window.to_seconds(counts.busy_max);
        let busy_mean = window.to_seconds(counts.busy) / counts.periods.max(1) as f64;
        LockUse { kind, row: Row::new(name, &sum, &window), busy_mean, busy_max, callers: Vec::new() }
    }

    fn counts(attempts: u64, spun: u64, hold: u64, mean_wait: u64, wait_max: u64) -> Counts {
        let spin = spun * mean_wait;
        Counts { nowait: attempts - spun, spun, timed: attempts, hold, spin, wait_max, ..Counts::default() }
    }

    #[test]
    fn read_locks_print_as_in_2001() {
        let all = counts(114_236, 537, 114_236 * 4_200, 39_000, 1_223_000);
        let all = Counts { busy: 480_000_000, busy_max: 71_000_000, periods: 114_236, ..all };
        let lock = one(RecordKind::Read, "tasklist_lock", all, 400.0);
        assert_eq!(read_line(&lock.row, Some(&lock), LineLevel::Lock), without(&READERS, READ_LOCK));
        let caller = one(RecordKind::Read, "do_select+0x28", counts(14, 0, 5_600, 0, 0), 400.0);
        assert_eq!(read_line(&caller.row, None, LineLevel::Caller), READ_CALLER);
        let total = one(RecordKind::Read, "*TOTAL*", counts(5_940_740, 29_704, 1, 3_700, 199_000), 250.0);
        assert_eq!(read_line(&total.row, None, LineLevel::Total), READ_TOTAL);
    }

    #[test]
    fn write_locks_print_as_in_2001() {
        let all = counts(12_058_253, 10, 12_058_253 * 19_000, 11_000, 52_000);
        let lock = one(RecordKind::Write, "hash_table_lock", Counts { hold_max: 12_000_000, ..all }, 331.0);
        assert_eq!(write_line(&lock.row, Some(&lock), LineLevel::Lock), without(&WRITERS, WRITE_LOCK));
        let all = Counts { hold_max: 49_000, ..counts(4_753_020, 0, 4_753_020 * 1_270, 0, 0) };
        let caller = one(RecordKind::Write, "__invalidate_buffers+0x270", all, 331.0);
        assert_eq!(write_line(&caller.row, None, LineLevel::Caller), without(&WRITERS, WRITE_CALLER));
    }
}
