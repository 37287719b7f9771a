//! Sums over several keys.

use unspin_wire::{BUCKETS, Counts, Histogram, Record, RecordKind, TimeKind};

/// Records added up. Where not every hold was timed each key's are estimated apart, so that callers add up to their lock.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Sum {
    pub counts: Counts,
    /// Cumulated hold in ticks, estimated where not every hold was timed.
    pub hold: f64,
    /// Ticks in which the lock was held: the hold, and of readers together the time in which there was at least one.
    pub used: f64,
    pub holds: Histogram,
    pub waits: Histogram,
}

impl Default for Sum {
    fn default() -> Sum {
        let counts = Counts::default();
        let (holds, waits) =
            (Histogram::new(TimeKind::Holds, [0; BUCKETS]), Histogram::new(TimeKind::Waits, [0; BUCKETS]));
        Sum { counts, hold: 0.0, used: 0.0, holds, waits }
    }
}

impl Sum {
    /// The sum of one key.
    pub fn of(kind: RecordKind, record: &Record) -> Sum {
        let hold = record.counts.hold_in_all();
        let used = if kind == RecordKind::Read { record.counts.busy as f64 } else { hold };
        Sum { counts: record.counts, hold, used, holds: record.holds, waits: record.waits }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Sum) {
        self.counts.merge(&other.counts);
        self.hold += other.hold;
        self.used += other.used;
        self.holds.merge(&other.holds);
        self.waits.merge(&other.waits);
    }
}
