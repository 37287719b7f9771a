//! One row of the report: the columns of Lockmeter, computed from counts.

use crate::sum::Sum;
use serde::{Deserialize, Serialize};
use unspin_wire::{Counts, Level, Record, RecordKind, Window};

/// The columns of one lock, of one of its callers, or of all locks together.
///
/// With dt the seconds metered and n the number of CPUs; attempts = nowait + spun + slept + rejected:
///
/// | column | field | is |
/// |---|---|---|
/// | UTIL | `util` | cumulated hold / dt; for read locks the time in which at least one reader held the lock / dt. The values of a lock's callers add up to the lock's. Several locks folded into one row are added, so that row can exceed 1 |
/// | CON | `con` | (spun + slept + rejected) / attempts |
/// | HOLD MEAN(MAX) | `hold_mean`, `hold_max` | cumulated hold / acquisitions |
/// | WAIT MEAN(MAX) | `wait_mean`, `wait_max` | cumulated wait (spinning and sleeping) / attempts that waited |
/// | (% CPU) | `spin_cpu` | time spent spinning / (n · dt): the share of the machine's CPU time that spinning used. Sleeping uses none |
/// | TOTAL | `attempts` | attempts |
/// | CPUS | `cpus` | CPUs used by this lock, for holds and spinning: UTIL + %CPU · n |
/// | LOST | `lost` | seconds waited, summed over all waiters |
/// | CEIL | `ceiling` | bound on the speed-up if this lock cost nothing; see [`Row::ceiling`] |
///
/// Shares are fractions (1 is 100 %), times are seconds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The lock's name, the caller's, or `*TOTAL*`.
    pub name: String,
    /// All attempts.
    pub attempts: u64,
    /// Acquisitions without waiting.
    pub nowait: u64,
    /// Acquisitions after spinning.
    pub spun: u64,
    /// Acquisitions after sleeping.
    pub slept: u64,
    /// Refused attempts.
    pub rejected: u64,
    /// Number of timed holds. At level `counts` it is 0, and all times are 0, because no clock is read.
    pub timed: u64,
    /// Number of holds for which timed ones stand beside themselves: at level `auto`, 15 for each hold of a frequent lock that
    /// was chosen at random.
    #[serde(default)]
    pub implied: u64,
    /// Total hold time in seconds.
    pub hold: f64,
    /// Mean hold per acquisition, in seconds.
    pub hold_mean: f64,
    /// Longest hold, in seconds.
    pub hold_max: f64,
    /// Total time spent spinning, in seconds.
    pub spin: f64,
    /// Total time spent asleep, in seconds.
    pub sleep: f64,
    /// Mean wait of the attempts that waited, in seconds.
    pub wait_mean: f64,
    /// Longest wait, in seconds.
    pub wait_max: f64,
    /// Share of the metered time during which the lock was held.
    pub util: f64,
    /// Share of the attempts that did not get the lock at once.
    pub con: f64,
    /// Share of the machine's CPU time that was spent spinning.
    pub spin_cpu: f64,
    /// CPUs used by the lock, for holds and spinning.
    pub cpus: f64,
    /// Total wait in seconds, summed over all waiters.
    pub lost: f64,
    /// Bound on the speed-up if this lock cost nothing: the run would take at least 1/`ceiling` of its time. At least
    /// 1; the smaller of two bounds.
    ///
    /// 1. **1 + W**. W = `lost` / dt is the mean number of threads that wait for the lock. While k threads wait, at
    ///    least one thread, the holder, proceeds. Without the lock at most k + 1 threads would proceed, each no
    ///    faster than at present, so this moment cannot become more than k + 1 times shorter. The share of time saved
    ///    is at most the mean of k/(k+1). The function is concave, so this mean is at most W/(W+1).
    /// 2. **n · dt / (C − S)**. C is the program's CPU time and S the seconds that it spun on this lock. The rest of
    ///    its computation remains, on n CPUs. If C is not known, n is used, on the assumption that the program keeps
    ///    at least one CPU busy with other work.
    ///
    /// The bound leaves out the following. Work that a thread cannot start because of the lock counts only from when
    /// the thread waits. The cost of an uncontended acquisition, and of the transfer of the lock's cache lines, is
    /// not in the table. While the holder itself cannot run, no thread proceeds, but bound 1 assumes that the holder
    /// does.
    pub ceiling: f64,
}

impl Row {
    /// Computes the columns from counts.
    ///
    /// ```
    /// use unspin_report::Row;
    /// use unspin_wire::{Counts, Window};
    ///
    /// // The runqueue_lock of Hartner 2001, in nanoseconds.
    /// let counts = Counts {
    ///     nowait: 258_383,
    ///     spun: 2_134_055,
    ///     timed: 2_392_438,
    ///     hold: 2_392_438 * 8_800,
    ///     hold_max: 183_000,
    ///     spin: 2_134_055 * 49_000,
    ///     wait_max: 1_989_000,
    ///     ..Counts::default()
    /// };
    /// let window = Window { seconds: 27.6, cpus: 8, ticks_per_second: 1e9, cpu_seconds: None };
    /// let row = Row::from_counts("runqueue_lock", &counts, &window);
    /// assert_eq!(format!("{:.3} {:.3} {:.3}", row.util, row.con, row.spin_cpu), "0.763 0.892 0.474");
    /// assert_eq!(format!("{:.2} of 8 CPUs", row.cpus), "4.55 of 8 CPUs");
    /// ```
    pub fn from_counts(name: impl Into<String>, counts: &Counts, window: &Window) -> Row {
        let record = Record { counts: *counts, ..Record::default() };
        Row::new(name, &Sum::of(RecordKind::Mutex, &record), window)
    }

    pub(crate) fn new(name: impl Into<String>, sum: &Sum, window: &Window) -> Row {
        let counts = &sum.counts;
        let seconds = |ticks| window.to_seconds(ticks);
        let cpus = f64::from(window.cpus);
        let hold = sum.hold / window.ticks_per_second;
        let (spin, sleep) = (seconds(counts.spin), seconds(counts.sleep));
        let lost = spin + sleep;
        let attempts = counts.attempts();
        let util = sum.used / window.ticks_per_second / window.seconds;
        let spin_cpu = spin / (cpus * window.seconds);
        Row {
            name: name.into(),
            attempts,
            nowait: counts.nowait,
            spun: counts.spun,
            slept: counts.slept,
            rejected: counts.rejected,
            timed: counts.timed,
            implied: counts.implied,
            hold,
            hold_mean: per(hold, counts.acquisitions()),
            hold_max: seconds(counts.hold_max),
            spin,
            sleep,
            wait_mean: per(lost, counts.waiters()),
            wait_max: seconds(counts.wait_max),
            util,
            con: per((attempts - counts.nowait) as f64, attempts),
            spin_cpu,
            cpus: util + spin_cpu * cpus,
            lost,
            ceiling: ceiling(lost, spin, window),
        }
    }

    /// Whether enough holds were timed for the hold times. At level `sampled` a rarely used lock may have no timed hold, and at
    /// level `auto` a frequent one too few in an interval of `unspin top`.
    pub fn has_known_holds(&self) -> bool {
        let untimed = self.timed == 0 && self.hold == 0.0 && self.attempts > self.rejected;
        let chosen = self.implied / u64::from(Level::AUTO_EVERY - 1);
        let too_few = self.implied > 0 && chosen < SAMPLES_MIN;
        !untimed && !too_few
    }

    /// `part` as a share of the attempts.
    pub fn share(&self, part: u64) -> f64 {
        per(part as f64, self.attempts)
    }
}

/// Holds chosen at random by level `auto` from which on an estimate is printed that they are part of. With 20 of similar length it is
/// off by about a fifth.
pub(crate) const SAMPLES_MIN: u64 = 20;

/// `sum / n`; 0 if `n` is 0.
fn per(sum: f64, n: u64) -> f64 {
    if n == 0 { 0.0 } else { sum / n as f64 }
}

/// See [`Row::ceiling`].
fn ceiling(lost: f64, spin: f64, window: &Window) -> f64 {
    let waiters = 1.0 + lost / window.seconds;
    let machine = f64::from(window.cpus);
    let cpus = match window.cpu_seconds {
        // A program that only spins, or whose times are inconsistent, is bounded by its waiters.
        Some(cpu) if cpu > spin => machine * window.seconds / (cpu - spin),
        Some(_) => waiters,
        None => machine,
    };
    waiters.min(cpus).max(1.0)
}
