//! Snapshots as tests want them.

use unspin_meter::{Counts, Image, Key, Record, Snapshot, Window};

/// Ticks in a second.
pub const TICKS_PER_SECOND: f64 = 1000.0;

/// A time, in ticks since the recording began.
pub fn at(seconds: f64) -> u64 {
    (seconds * TICKS_PER_SECOND) as u64
}

/// One process with these counts, some seconds after it began, on two CPUs.
pub fn snapshot(seconds: f64, rows: &[(Key, Counts)]) -> Snapshot {
    let window = Window { seconds, cpus: 2, ticks_per_second: TICKS_PER_SECOND, cpu_seconds: None };
    let mut snapshot = Snapshot::of_rows(window, []);
    let record = |(key, counts): &(Key, Counts)| (*key, Record { counts: *counts, ..Record::default() });
    snapshot.images = vec![Image { pid: 7, rows: rows.iter().map(record).collect(), ..Image::default() }];
    snapshot
}
