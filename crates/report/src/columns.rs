//! The columns of the table of locks and of the table of waits, in print, on the screen of `unspin top`, and by their
//! fields in JSON. `layout.rs` has their meaning in words.

use crate::figures::{number, percent, time};
use crate::row::Row;
use crate::table::{Column, Frame, Units, known};
use crate::wait::WaitRow;

/// The columns of locks.
#[rustfmt::skip]
pub const LOCKS: [Column<Row>; 15] = [
    Column { field: "lost",      printed: ["", "  LOST"],     on_screen: ["LOST", "LOST/s"],   width: 6,  frame: Frame::First,       dropped: [0, 0],   is_of_use: false, text: |row, units| units.sum(row.lost) },
    Column { field: "ceiling",   printed: ["", "  CEIL"],     on_screen: ["CEIL"; 2],          width: 5,  frame: Frame::Space,       dropped: [6, 7],   is_of_use: false, text: |row, units| units.bound(|| format!("{}x", number(row.ceiling))) },
    Column { field: "cpus",      printed: ["", "  CPUS"],     on_screen: ["CPUS"; 2],          width: 5,  frame: Frame::Space,       dropped: [7, 8],   is_of_use: true,  text: |row, units| held(row, units, || number(row.cpus)) },
    Column { field: "util",      printed: ["", "  UTIL"],     on_screen: ["UTIL"; 2],          width: 5,  frame: Frame::Space,       dropped: [2, 2],   is_of_use: true,  text: |row, units| held(row, units, || percent(row.util)) },
    Column { field: "con",       printed: ["", "   CON"],     on_screen: ["CON"; 2],           width: 5,  frame: Frame::Space,       dropped: [3, 3],   is_of_use: false, text: |row, _| percent(row.con) },
    Column { field: "hold_mean", printed: ["  HOLD", "  MEAN"], on_screen: ["HOLD"; 2],        width: 5,  frame: Frame::Space,       dropped: [4, 5],   is_of_use: false, text: |row, units| held(row, units, || time(row.hold_mean)) },
    Column { field: "hold_max",  printed: ["", "(  MAX)"],    on_screen: ["MAX"; 2],           width: 5,  frame: Frame::Parentheses, dropped: [8, 9],   is_of_use: false, text: |row, units| held(row, units, || time(row.hold_max)) },
    Column { field: "wait_mean", printed: ["  WAIT", "  MEAN"], on_screen: ["WAIT"; 2],        width: 5,  frame: Frame::Space,       dropped: [4, 4],   is_of_use: false, text: |row, units| units.time(row.wait_mean) },
    Column { field: "wait_max",  printed: ["", "(  MAX)"],    on_screen: ["MAX"; 2],           width: 5,  frame: Frame::Parentheses, dropped: [8, 10],  is_of_use: false, text: |row, units| units.time(row.wait_max) },
    Column { field: "spin_cpu",  printed: ["", "(% CPU)"],    on_screen: ["%CPU"; 2],          width: 5,  frame: Frame::Parentheses, dropped: [5, 6],   is_of_use: false, text: |row, units| units.timed(|| percent(row.spin_cpu)) },
    Column { field: "attempts",  printed: ["", "     TOTAL"], on_screen: ["TOTAL", "TOTAL/s"], width: 10, frame: Frame::Space,       dropped: [1, 1],   is_of_use: false, text: |row, units| units.count(row.attempts) },
    Column { field: "nowait",    printed: ["", " NOWAIT"],    on_screen: ["NOWAIT"; 2],        width: 5,  frame: Frame::Space,       dropped: [10, 13], is_of_use: false, text: |row, _| percent(row.share(row.nowait)) },
    Column { field: "spun",      printed: ["", " SPIN"],      on_screen: ["SPIN"; 2],          width: 5,  frame: Frame::Space,       dropped: [10, 11], is_of_use: false, text: |row, _| percent(row.share(row.spun)) },
    Column { field: "slept",     printed: ["", " SLEPT"],     on_screen: ["SLEPT"; 2],         width: 5,  frame: Frame::Space,       dropped: [9, 12],  is_of_use: false, text: |row, _| percent(row.share(row.slept)) },
    Column { field: "rejected",  printed: ["", " RJECT"],     on_screen: ["RJECT"; 2],         width: 5,  frame: Frame::Space,       dropped: [9, 14],  is_of_use: false, text: |row, _| percent(row.share(row.rejected)) },
];

/// The columns of waits. A printed table has them all.
#[rustfmt::skip]
pub const WAITS: [Column<WaitRow>; 7] = [
    Column { field: "waited",  printed: ["", "WAITED"],      on_screen: ["WAITED", "WAIT/s"], width: 6,  frame: Frame::First,       dropped: [0, 0], is_of_use: false, text: |row, units| units.sum(row.waited) },
    Column { field: "median",  printed: ["", " MEDIAN"],     on_screen: ["MEDIAN"; 2],        width: 6,  frame: Frame::Space,       dropped: [2, 2], is_of_use: false, text: |row, units| units.time(row.median) },
    Column { field: "max",     printed: ["", "(  MAX)"],     on_screen: ["MAX"; 2],           width: 5,  frame: Frame::Parentheses, dropped: [5, 5], is_of_use: false, text: |row, units| units.time(row.max) },
    Column { field: "calls",   printed: ["", "      CALLS"], on_screen: ["CALLS", "CALLS/s"], width: 10, frame: Frame::Space,       dropped: [1, 1], is_of_use: false, text: |row, units| units.count(row.calls) },
    Column { field: "waits",   printed: ["", "      WAITS"], on_screen: ["WAITS", "WAITS/s"], width: 10, frame: Frame::Space,       dropped: [4, 4], is_of_use: false, text: |row, units| units.count(row.waits) },
    Column { field: "short",   printed: ["", " SHORT"],      on_screen: ["SHORT"; 2],         width: 5,  frame: Frame::Space,       dropped: [3, 3], is_of_use: false, text: |row, units| short(row, units) },
    Column { field: "gave_up", printed: ["", " RJECT"],      on_screen: ["RJECT"; 2],         width: 5,  frame: Frame::Space,       dropped: [6, 6], is_of_use: false, text: |row, _| percent(row.gave_up as f64 / row.calls.max(1) as f64) },
];

/// A hold time. At level `sampled` a rarely used lock may have no timed hold. Its hold times are then unknown.
fn held(row: &Row, units: &Units, text: impl FnOnce() -> String) -> String {
    let untimed = row.timed == 0 && row.hold == 0.0 && row.attempts > row.rejected;
    known(!untimed, || units.timed(text))
}

fn short(row: &WaitRow, units: &Units) -> String {
    known(row.waits > 0, || units.judged(|| percent(row.short_share())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::Fold;
    use crate::report::MeterReport;
    use unspin_wire::{Counts, Key, RecordKind, Snapshot, Window};

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
