//! Compares a recording with the counts that the recorded program prints.

use crate::inner::{KnownCounts, Task, crowd};
use crate::recording_file::RecordingFile;
use std::os::unix::fs::MetadataExt;
use unspin_report::Row;
use unspin_wire::{Counts, Snapshot};

/// A program of known counts: attempts that the recording has too many or too few, in all.
pub const WRONG: usize = 0;
/// A crowd: bytes of the recording that are in use or set aside, in MiB.
pub const USED_MIB: usize = 1;
/// A crowd: memory that the file takes, in MiB.
pub const MEMORY_MIB: usize = 2;

/// Columns of the report that can be checked. Of a run's figures, each has three in a row: how far the report is off, in
/// percent of the truth; the truth, in percent; the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// UTIL.
    Util,
    /// CON.
    Con,
    /// (% CPU).
    SpinCpu,
}

impl Column {
    const ALL: [Column; 3] = [Column::Util, Column::Con, Column::SpinCpu];

    /// Where its figures begin.
    pub fn first(self) -> usize {
        3 * self as usize
    }
}

/// The figures of a run of this task: see above. `seconds` is how long it ran by our own clock.
pub fn figures(task: &Task, text: &str, recorded: &RecordingFile, seconds: f64) -> Result<Vec<f64>, String> {
    let snapshot = recorded.recording().snapshot();
    let truths: Vec<KnownCounts> =
        serde_json::from_str(text).map_err(|e| format!("printed {text:?}: {e}"))?;
    let unrecorded = snapshot.unrecorded.overflowed + snapshot.unrecorded.threads;
    match *task {
        Task::Known { .. } => {
            let wrong: u64 = truths.iter().map(|truth| wrong(truth, &counts_of(&snapshot, truth.lock))).sum();
            Ok(vec![(wrong + unrecorded) as f64])
        }
        Task::Holds { .. } => {
            let [truth] = truths[..] else { return Err(format!("printed {text:?}")) };
            Ok(columns(&truth, &snapshot, seconds))
        }
        Task::Crowd { threads, locks, share } => {
            let wrong = crowd::acquisitions(threads, locks, share).abs_diff(snapshot.total().attempts());
            let file = std::fs::metadata(recorded.path()).map_err(|e| e.to_string())?;
            let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
            // stat(2) counts blocks of 512 bytes.
            Ok(vec![(wrong + unrecorded) as f64, mib(recorded.recording().bytes()), mib(512 * file.blocks())])
        }
        _ => Err("this task knows nothing of what it does".into()),
    }
}

/// Everything recorded for one lock, over all callers and threads.
fn counts_of(snapshot: &Snapshot, lock: u64) -> Counts {
    let mut sum = Counts::default();
    for (_, record) in
        snapshot.images.iter().flat_map(|image| &image.rows).filter(|(key, _)| key.lock == lock)
    {
        sum.merge(&record.counts);
    }
    sum
}

fn wrong(truth: &KnownCounts, counts: &Counts) -> u64 {
    truth.acquired.abs_diff(counts.acquisitions()) + truth.rejected.abs_diff(counts.rejected)
}

fn columns(truth: &KnownCounts, snapshot: &Snapshot, seconds: f64) -> Vec<f64> {
    let row = Row::from_counts("", &counts_of(snapshot, truth.lock), &snapshot.window);
    let cpus = f64::from(snapshot.window.cpus);
    let column = |column| match column {
        Column::Util => (truth.held_s / seconds, row.util),
        Column::Con => (truth.contended as f64 / truth.acquired as f64, row.con),
        Column::SpinCpu => (truth.spun_s / (cpus * seconds), row.spin_cpu),
    };
    let figures = |(truth, report): (f64, f64)| {
        let off = if report == truth { 0.0 } else { (report / truth - 1.0).abs() };
        [off, truth, report].map(|share| 100.0 * share)
    };
    Column::ALL.into_iter().flat_map(|c| figures(column(c))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_wire::{Key, RecordKind, Window};

    fn truth() -> KnownCounts {
        let lock = Key::new(RecordKind::Mutex, 0x1000, 0).lock;
        KnownCounts { lock, acquired: 100, rejected: 7, contended: 20, held_s: 0.5, spun_s: 0.0 }
    }

    fn snapshot(counts: Counts) -> Snapshot {
        let window = Window { seconds: 1.0, cpus: 2, ticks_per_second: 1e3, cpu_seconds: None };
        let other = Counts { nowait: 1000, ..Counts::default() };
        let rows = [(0x1000, 1, counts), (0x1000, 2, counts), (0x2000, 1, other)];
        let key = |address, caller| Key::new(RecordKind::Mutex, address, caller);
        Snapshot::of_rows(window, rows.map(|(address, caller, counts)| (key(address, caller), counts)))
    }

    #[test]
    fn missing_or_extra_attempt_is_wrong() {
        let half = Counts { nowait: 40, slept: 10, rejected: 3, ..Counts::default() };
        let counts = counts_of(&snapshot(half), truth().lock);
        assert_eq!((counts.acquisitions(), wrong(&truth(), &counts)), (100, 1));
        let counts = counts_of(&snapshot(Counts { nowait: 41, ..half }), truth().lock);
        assert_eq!(wrong(&truth(), &counts), 3);
    }

    #[test]
    fn wrong_column_is_stated_with_its_difference() {
        let half = Counts { nowait: 40, slept: 10, timed: 50, hold: 275, ..Counts::default() };
        let figures = columns(&truth(), &snapshot(half), 1.0);
        let column = |column: Column| figures[column.first()..][..3].to_vec();
        assert!(column(Column::Util).iter().zip([10.0, 50.0, 55.0]).all(|(a, b)| (a - b).abs() < 1e-9));
        assert_eq!((column(Column::Con), column(Column::SpinCpu)), (vec![0.0, 20.0, 20.0], vec![0.0; 3]));
    }
}
