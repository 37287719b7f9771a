//! The columns of the table of locks and of the table of waits, in print, on the screen of `unspin top`, and by their
//! fields in JSON. `layout.rs` has their meaning in words.

use crate::column::{Column, Frame::*};
use crate::figures::{Percent, number, time};
use crate::row::Row;
use crate::units::{Units, known};
use crate::wait::WaitRow;

type LockColumn = Column<Row>;
type WaitColumn = Column<WaitRow>;

/// The columns of locks.
#[rustfmt::skip]
pub const LOCKS: [LockColumn; 15] = [
    LockColumn::new("lost", Gap(0), 6, ["", "  LOST"], |row, units| units.sum(row.lost)).on_screen(["LOST", "LOST/s"], 6, 0),
    LockColumn::new("ceiling", Gap(1), 5, ["", "  CEIL"], |row, units| units.bound(|| format!("{}x", number(row.ceiling)))).dropped(6).on_screen(["CEIL"; 2], 5, 7),
    LockColumn::new("cpus", Gap(1), 5, ["", "  CPUS"], |row, units| held(row, units, || number(row.cpus))).dropped(7).on_screen(["CPUS"; 2], 5, 8).of_use(),
    LockColumn::new("util", Gap(1), 5, ["", "  UTIL"], |row, units| held(row, units, || Percent::Column.of(row.util))).dropped(2).on_screen(["UTIL"; 2], 5, 2).of_use(),
    LockColumn::new("con", Gap(1), 5, ["", "   CON"], |row, _| Percent::Column.of(row.con)).dropped(3).on_screen(["CON"; 2], 5, 3),
    LockColumn::new("hold_mean", Gap(1), 5, ["  HOLD", "  MEAN"], |row, units| held(row, units, || time(row.hold_mean))).dropped(4).on_screen(["HOLD"; 2], 5, 5),
    LockColumn::new("hold_max", Parentheses, 5, ["", "(  MAX)"], |row, units| held(row, units, || time(row.hold_max))).dropped(8).on_screen(["MAX"; 2], 5, 9),
    LockColumn::new("wait_mean", Gap(1), 5, ["  WAIT", "  MEAN"], |row, units| units.time(row.wait_mean)).dropped(4).on_screen(["WAIT"; 2], 5, 4),
    LockColumn::new("wait_max", Parentheses, 5, ["", "(  MAX)"], |row, units| units.time(row.wait_max)).dropped(8).on_screen(["MAX"; 2], 5, 10),
    LockColumn::new("spin_cpu", Parentheses, 5, ["", "(% CPU)"], |row, units| units.timed(|| Percent::Column.of(row.spin_cpu))).dropped(5).on_screen(["%CPU"; 2], 5, 6),
    LockColumn::new("attempts", Gap(1), 10, ["", "     TOTAL"], |row, units| units.count(row.attempts)).dropped(1).on_screen(["TOTAL", "TOTAL/s"], 10, 1),
    LockColumn::new("nowait", Gap(1), 5, ["", " NOWAIT"], |row, _| Percent::Column.of(row.share(row.nowait))).dropped(10).on_screen(["NOWAIT"; 2], 6, 13),
    LockColumn::new("spun", Gap(1), 5, ["", " SPIN"], |row, _| Percent::Column.of(row.share(row.spun))).dropped(10).on_screen(["SPIN"; 2], 5, 11),
    LockColumn::new("slept", Gap(1), 5, ["", " SLEPT"], |row, _| Percent::Column.of(row.share(row.slept))).dropped(9).on_screen(["SLEPT"; 2], 5, 12),
    LockColumn::new("rejected", Gap(1), 5, ["", " RJECT"], |row, _| Percent::Column.of(row.share(row.rejected))).dropped(9).on_screen(["RJECT"; 2], 5, 14),
];

/// The columns of waits. A printed table has them all.
#[rustfmt::skip]
pub const WAITS: [WaitColumn; 7] = [
    WaitColumn::new("waited", Gap(0), 6, ["", "WAITED"], |row, units| units.sum(row.waited)).on_screen(["WAITED", "WAIT/s"], 6, 0),
    WaitColumn::new("median", Gap(1), 6, ["", " MEDIAN"], |row, units| units.time(row.median)).dropped(2).on_screen(["MEDIAN"; 2], 6, 2),
    WaitColumn::new("max", Parentheses, 5, ["", "(  MAX)"], |row, units| units.time(row.max)).dropped(5).on_screen(["MAX"; 2], 5, 5),
    WaitColumn::new("calls", Gap(1), 10, ["", "      CALLS"], |row, units| units.count(row.calls)).dropped(1).on_screen(["CALLS", "CALLS/s"], 10, 1),
    WaitColumn::new("waits", Gap(1), 10, ["", "      WAITS"], |row, units| units.count(row.waits)).dropped(4).on_screen(["WAITS", "WAITS/s"], 10, 4),
    WaitColumn::new("short", Gap(1), 5, ["", " SHORT"], short).dropped(3).on_screen(["SHORT"; 2], 5, 3),
    WaitColumn::new("gave_up", Gap(1), 5, ["", " RJECT"], |row, _| Percent::Column.of(row.gave_up as f64 / row.calls.max(1) as f64)).dropped(6).on_screen(["RJECT"; 2], 5, 6),
];

/// A hold time, if [`Row::has_known_holds`].
fn held(row: &Row, units: &Units, text: impl FnOnce() -> String) -> String {
    known(row.has_known_holds(), || units.timed(text))
}

fn short(row: &WaitRow, units: &Units) -> String {
    known(row.waits > 0, || units.judged(|| Percent::Column.of(row.short_share())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::Fold;
    use crate::report::MeterReport;
    use crate::row::SAMPLES_MIN;
    use unspin_wire::{Counts, Key, RecordKind, Snapshot, Window};

    #[test]
    fn estimate_from_too_few_random_holds_is_a_dash() {
        let window = Window { seconds: 1.0, cpus: 1, ticks_per_second: 1e9, cpu_seconds: None };
        let util = |timed, implied| {
            let counts = Counts { nowait: 400, timed, implied, hold: 1 << 20, ..Counts::default() };
            let key = Key::new(RecordKind::Mutex, 1, 1);
            let report = MeterReport::new(&Snapshot::of_rows(window, [(key, counts)]), &|_, _| None);
            held(&report.locks[0].row, &Units::of(&report), || "known".into())
        };
        for (timed, implied, expected) in [
            (0, 1, "-"),
            (1024 + SAMPLES_MIN - 1, 15 * (SAMPLES_MIN - 1), "-"),
            (1024 + SAMPLES_MIN, 15 * SAMPLES_MIN, "known"),
            (1, 0, "known"),
        ] {
            assert_eq!(util(timed, implied).trim(), expected, "{timed} {implied}");
        }
    }

    #[test]
    fn each_column_is_a_field_in_json() {
        let window = Window { seconds: 1.0, cpus: 1, ticks_per_second: 1e9, cpu_seconds: None };
        let rows =
            [RecordKind::Mutex, RecordKind::Condition].map(|kind| (Key::new(kind, 1, 1), Counts::default()));
        let report = MeterReport::new(&Snapshot::of_rows(window, rows), &|_, _| None);
        assert_eq!(report.fold, Fold::default());
        let json = serde_json::to_value(&report).unwrap();
        for field in LOCKS.iter().map(|column| column.field) {
            assert!(json["locks"][0].get(field).is_some(), "{field} of a lock");
        }
        for field in WAITS.iter().map(|column| column.field) {
            assert!(json["waits"][0].get(field).is_some(), "{field} of a wait");
        }
    }
}
