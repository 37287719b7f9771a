//! The published rows of Hartner 2001 (Bill Hartner, "VolanoMark 2.1.2: SGI Lockmeter Data for 2.4.4 and 2.4.4+MQ
//! Scheduler Kernel"), reproduced by the model.
//!
//! Each printed figure is rounded, so it stands for an interval. A row fits the model if some counts lie in the
//! intervals of all its columns. The test finds such counts and prints them. The result must equal the published line
//! byte for byte.

use crate::lockmeter::{LineLevel, line};
use crate::report::MeterReport;
use crate::row::Row;
use unspin_wire::{Counts, Key, Snapshot, Window};

/// Linux 2.4.4.
const BEFORE: &str = "       15.3%  5.9us(  18ms)   47us(9900us)(47.7%)  14686011 84.7% 15.3% 0.00%  *TOTAL*
 76.3% 89.2%  8.8us( 183us)   49us(1989us)(47.4%)   2392438 10.8% 89.2%    0%  runqueue_lock
  8.8% 91.8%  8.6us( 144us)   54us( 962us)( 6.3%)    277757  8.2% 91.8%    0%    __wake_up+0x70
 0.01% 60.0%  1.2us(  92us)   19us( 259us)(0.01%)      1241 40.0% 60.0%    0%    deliver_signal+0x58
 0.00% 85.0%  8.6us(  30us)   53us( 248us)(0.00%)        80 15.0% 85.0%    0%    process_timeout+0x14
 0.01% 89.1%  3.7us(  29us)   23us( 165us)(0.00%)       523 10.9% 89.1%    0%    schedule_tail+0x6c
 58.3% 89.3%  9.3us( 183us)   48us(1989us)(33.7%)   1721928 10.7% 89.3%    0%    schedule+0xcc
 0.22% 95.9%  5.9us(  57us)   47us( 606us)(0.21%)     10145  4.1% 95.9%    0%    schedule+0x49c
 0.01% 56.1%  4.0us(  38us)   18us( 150us)(0.00%)       911 43.9% 56.1%    0%    schedule+0x56c
 0.01% 70.4%  1.9us(  27us)   21us( 179us)(0.01%)       804 29.6% 70.4%    0%    setscheduler+0x80
  9.0% 87.2%  6.5us( 182us)   48us( 973us)( 7.2%)    379049 12.8% 87.2%    0%    wake_up_process+0x14";

/// Linux 2.4.4 with the multi-queue scheduler: eight locks.
const AFTER: &str = "        2.7%  1.7us(  18ms)  4.7us(3835us)( 1.6%)  13686445 97.3%  2.4% 0.30%  *TOTAL*
  8.8%  7.9%  3.8us(  23us)  3.4us(  37us)(0.08%)    281511 92.1%  7.9%    0%  __wake_up+0x8c
 0.01%  6.5%  0.5us( 2.6us)  4.0us(  73us)(0.00%)      1255 93.5%  6.5%    0%  deliver_signal+0xa8
 0.00% 10.0%  4.6us( 9.2us)  1.9us( 3.0us)(0.00%)        30 90.0% 10.0%    0%  process_timeout+0x48
 35.8%  2.6%  2.8us(  40us)  3.7us(  51us)(0.16%)   1583541 97.4%  2.6%    0%  schedule+0x130
 0.75% 24.1%  1.7us(  38us)    0us                    52363 75.9%    0% 24.1%  schedule+0x530
  2.8%    0%  0.2us( 834us)    0us                  1490370  100%    0%    0%  schedule+0xc14
 0.02% 30.4%  3.8us(  13us)  3.7us(  17us)(0.00%)       602 69.6% 30.4%    0%  schedule+0xc9c
 0.00% 85.7%  1.2us( 2.6us)  4.1us( 5.7us)(0.00%)         7 14.3% 85.7%    0%  schedule+0xcf0
 0.01% 0.12%  2.1us( 7.9us)  1.6us( 1.6us)(0.00%)       818 99.9% 0.12%    0%  schedule+0xe4c
 0.00%    0%  0.3us( 8.4us)    0us                      812  100%    0%    0%  schedule_tail+0x24
 0.00%    0%  4.3us( 5.4us)    0us                        6  100%    0%    0%  schedule_tail+0xa4
 0.01% 0.25%  1.3us( 6.3us)  7.7us( 9.1us)(0.00%)       804 99.8% 0.25%    0%  setscheduler+0x104
  6.6%  7.4%  2.2us(  29us)  3.5us(  48us)(0.10%)    355900 92.6%  7.4%    0%  wake_up_process+0x54";

/// Seconds metered. The report does not state them. Each row bounds them by TOTAL × MEAN / UTIL. All rows together
/// leave 27.42 to 27.46. The lock's row alone gives 27.6, see `utilisation_by_hand`.
const BEFORE_SECONDS: f64 = 27.44;
/// As above: 12.15 to 12.23.
const AFTER_SECONDS: f64 = 12.19;

/// Ticks per second: picoseconds. In rows of a few attempts, times rounded to nanoseconds would leave their intervals.
const TICKS: f64 = 1e12;

fn window(seconds: f64) -> Window {
    Window { seconds, cpus: 8, ticks_per_second: TICKS, cpu_seconds: None }
}

/// The values that a printed figure can stand for, and the value that it shows.
#[derive(Clone, Copy, Debug)]
struct Interval {
    low: f64,
    shown: f64,
    high: f64,
}

impl Interval {
    const ANY: Interval = Interval { low: 0.0, shown: 0.0, high: f64::INFINITY };

    fn exactly(value: f64) -> Interval {
        Interval { low: value, shown: value, high: value }
    }

    /// Parses `76.3%` (as a fraction of 1), `8.8us` or `18ms` (in seconds). A blank figure allows any value.
    fn parse(figure: &str) -> Interval {
        let figure = figure.trim();
        let digits = figure.trim_end_matches(['%', 'u', 'm', 's']);
        let Ok(value) = digits.parse::<f64>() else { return Interval::ANY };
        let unit = match &figure[digits.len()..] {
            "%" => 0.01,
            "us" => 1e-6,
            "ms" => 1e-3,
            other => panic!("unit {other:?}"),
        };
        let decimals = digits.split_once('.').map_or(0, |(_, d)| d.len() as i32);
        // A little less than half a unit of the last digit, because a value at exactly half may be rounded up or down.
        // `0.00%` stands for a small positive value, `0%` for zero.
        let half = 0.499 * 10f64.powi(-decimals);
        match (value, decimals) {
            (0.0, 0) => Interval::exactly(0.0),
            (0.0, _) => Interval { low: half * 1e-9, shown: 0.0, high: half }.times(unit),
            _ => Interval { low: value - half, shown: value, high: value + half }.times(unit),
        }
    }

    fn times(self, factor: f64) -> Interval {
        Interval { low: self.low * factor, shown: self.shown * factor, high: self.high * factor }
    }

    /// The values that both intervals allow.
    fn and(self, other: Interval) -> Interval {
        Interval { low: self.low.max(other.low), high: self.high.min(other.high), ..self }
    }

    fn minus(self, other: Interval) -> Interval {
        Interval { low: self.low - other.high, shown: self.shown - other.shown, high: self.high - other.low }
    }

    /// The allowed value nearest to the one shown.
    fn value(self) -> f64 {
        assert!(self.low <= self.high, "the published figures contradict the formulas: {self:?}");
        self.shown.clamp(self.low, self.high)
    }
}

/// A published line. Its columns have fixed positions.
struct Published<'a> {
    line: &'a str,
    level: LineLevel,
    name: &'a str,
}

impl<'a> Published<'a> {
    fn parse(line: &'a str) -> Published<'a> {
        let name = line[79..].trim();
        let level = match &line[77..] {
            "  *TOTAL*" => LineLevel::Total,
            rest if rest.starts_with("    ") => LineLevel::Caller,
            _ => LineLevel::Lock,
        };
        Published { line, level, name }
    }

    fn interval(&self, from: usize, to: usize) -> Interval {
        Interval::parse(&self.line[from..to])
    }

    /// Counts that fit every column, if the formulas of the model are right.
    fn counts(&self, seconds: f64) -> Counts {
        let attempts: u64 = self.line[49..59].trim().parse().unwrap();
        let n = attempts as f64;
        let rejected = self.interval(71, 77).times(n);
        let rejected = rejected.value().round().max(f64::from(rejected.low > 0.0)); // `0.00%`: at least one attempt
        let contended =
            Interval::exactly(n).minus(self.interval(59, 65).times(n)).and(self.interval(6, 12).times(n));
        let spun = self.interval(65, 71).times(n).and(contended.minus(Interval::exactly(rejected)));
        let spun = spun.value().round();
        let hold = self.interval(0, 6).times(seconds).and(self.interval(13, 19).times(n));
        let wait = match &self.line[34..35] {
            "(" => self.interval(43, 48).times(8.0 * seconds).and(self.interval(28, 34).times(spun)),
            _ => Interval::exactly(0.0),
        };
        let ticks = |interval: Interval| (interval.value() * TICKS).round() as u64;
        Counts {
            nowait: attempts - spun as u64 - rejected as u64,
            spun: spun as u64,
            rejected: rejected as u64,
            hold: ticks(hold),
            hold_max: ticks(self.interval(20, 26)),
            spin: ticks(wait),
            wait_max: ticks(self.interval(35, 41)),
            ..Counts::default()
        }
    }
}

fn rows(table: &str) -> impl Iterator<Item = Published<'_>> {
    table.lines().map(Published::parse)
}

#[test]
fn every_published_row_is_reproduced_byte_for_byte() {
    for (table, seconds) in [(BEFORE, BEFORE_SECONDS), (AFTER, AFTER_SECONDS)] {
        for published in rows(table) {
            let row = Row::from_counts(published.name, &published.counts(seconds), &window(seconds));
            assert_eq!(line(&row, None, published.level), published.line);
        }
    }
}

/// By hand: 2392438 × 8.8 us / 76.3 % ≈ 27.6 s. The CPUs spun for 47.4 % of that time.
#[test]
fn utilisation_by_hand() {
    let attempts = 2_392_438;
    let spun = (attempts as f64 * 0.892) as u64;
    let counts = Counts {
        nowait: attempts - spun,
        spun,
        hold: attempts * 8_800_000,
        spin: spun * 49_000_000,
        ..Counts::default()
    };
    let seconds = attempts as f64 * 8.8e-6 / 0.763;
    assert_eq!(format!("{seconds:.1}"), "27.6");
    let row = Row::from_counts("runqueue_lock", &counts, &window(seconds));
    assert_eq!(format!("{:.1} {:.1}", 100.0 * row.util, 100.0 * row.spin_cpu), "76.3 47.4");
}

/// A report of the callers in a published table, whose attempts are divided evenly among `locks` locks. The times are
/// computed from UTIL and % CPU alone, because Hartner added up these columns.
fn report(table: &str, seconds: f64, locks: u64) -> MeterReport {
    let names: Vec<&str> = rows(table).map(|row| row.name).collect();
    let mut keys = Vec::new();
    for (caller, published) in rows(table).enumerate() {
        if published.level == LineLevel::Total || published.name == "runqueue_lock" {
            continue;
        }
        let ticks = |share: Interval| (share.shown * seconds * TICKS) as u64;
        let all = Counts {
            hold: ticks(published.interval(0, 6)),
            spin: ticks(published.interval(43, 48).times(8.0)),
            ..published.counts(seconds)
        };
        for lock in 0..locks {
            let part = |n: u64| n / locks + u64::from(lock < n % locks);
            let counts = Counts {
                nowait: part(all.nowait),
                spun: part(all.spun),
                rejected: part(all.rejected),
                hold: part(all.hold),
                spin: part(all.spin),
                ..all
            };
            keys.push((Key { lock: lock + 1, caller: caller as u64 }, counts));
        }
    }
    let snapshot = Snapshot::of_rows(window(seconds), keys);
    let describe =
        |_: &_, key: &Key| Some(("runqueue_lock".to_string(), names[key.caller as usize].to_string()).into());
    MeterReport::new(&snapshot, &describe)
}

#[test]
fn headline_of_eight_locks_is_as_published() {
    assert_eq!(
        report(AFTER, AFTER_SECONDS, 8).locks[0].headline(8),
        "The (8) runqueue_locks were utilized 6.85 % each (54.8 % together) and spun for 0.34 % for a total of 0.58 of the \
         8 CPUs.",
        "the published sentence, and that it gives the mean of the locks"
    );
}

/// The lock's row is the sum of its callers' rows within rounding: each sum differs from the figure in the lock's row
/// by at most one unit of the last digit.
#[test]
fn row_of_one_lock_is_the_sum_of_its_callers_and_its_headline_is_as_published() {
    let mut report = report(BEFORE, BEFORE_SECONDS, 1);
    let lock = &mut report.locks[0];
    assert_eq!((lock.row.attempts, lock.callers().count()), (2_392_438, 9));
    for (sum, shown) in [(lock.row.util, 0.763), (lock.row.con, 0.892), (lock.row.spin_cpu, 0.474)] {
        assert!((sum - shown).abs() <= 0.001, "{sum} {shown}");
    }
    // The sums of the callers, limited to the intervals of the lock's row: 76.36 % is printed there as 76.3.
    let published = rows(BEFORE).find(|row| row.name == "runqueue_lock").unwrap();
    let within = |column: Interval, sum: f64| sum.clamp(column.low, column.high);
    let util = within(published.interval(0, 6), lock.row.util);
    let spin_cpu = within(published.interval(43, 48), lock.row.spin_cpu);
    let ticks = |share: f64| (share * BEFORE_SECONDS * TICKS) as u64;
    let counts =
        Counts { hold: ticks(util), spin: ticks(8.0 * spin_cpu), ..published.counts(BEFORE_SECONDS) };
    lock.row = Row::from_counts("runqueue_lock", &counts, &window(BEFORE_SECONDS));
    let published =
        "The (1) runqueue_lock was utilized 76.3 % and spun for 47.4 % for a total of 4.56 of the 8 CPUs.";
    assert_eq!(lock.headline(8), published.replace("(1) ", ""), "one lock needs no number");
}
