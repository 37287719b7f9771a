//! The layout of 2001 against C's own printf: the formats of the original program, given to libc.

use proptest::prelude::*;
use std::ffi::CString;
use unspin_report::MeterReport;
use unspin_wire::{Counts, Key, Snapshot, Window};

/// `snprintf` with one double.
fn printf(format: &str, value: f64) -> String {
    let format = CString::new(format).unwrap();
    let mut buffer = [0u8; 400]; // the longest double has 309 digits before the point
    // SAFETY: the format is a C string that asks for exactly one double; the length is the buffer's.
    let n = unsafe { libc::snprintf(buffer.as_mut_ptr().cast(), buffer.len(), format.as_ptr(), value) };
    String::from_utf8(buffer[..n as usize].to_vec()).unwrap()
}

fn percentage(share: f64) -> String {
    let format = match share * 100.0 {
        p if p > 99.9 || p == 0.0 => "%4.0f%%",
        p if p > 1.0 => "%4.1f%%",
        _ => "%4.2f%%",
    };
    printf(format, share * 100.0)
}

fn time(seconds: f64) -> String {
    match f64::from((seconds * 1e6) as f32) {
        us if us < 10.0 => printf("%4.1fus", us),
        us if us < 10_000.0 => printf("%4.0fus", us),
        us => printf("%4.0fms", us / 1000.0),
    }
}

/// The row as the original would have printed it, sleepers counted as spinners.
fn original(name: &str, counts: &Counts, window: &Window) -> String {
    let total = counts.attempts();
    let share = |n: u64| percentage(n as f64 / total as f64);
    let (hold, wait) = (window.to_seconds(counts.hold), window.to_seconds(counts.wait()));
    let waiters = counts.spun + counts.slept;
    let holds = match counts.hold {
        0 => " ".repeat(15),
        _ => format!(" {}({})", time(hold / total as f64), time(window.to_seconds(counts.hold_max))),
    };
    let waits = if counts.wait() == 0 || waiters == 0 {
        format!("    0us{}", " ".repeat(15))
    } else {
        let cpu = percentage(window.to_seconds(counts.spin) / (f64::from(window.cpus) * window.seconds));
        format!(" {}({})({cpu})", time(wait / waiters as f64), time(window.to_seconds(counts.wait_max)))
    };
    format!(
        " {} {}{holds}{waits} {total:9} {} {} {}  {name}",
        percentage(hold / window.seconds),
        share(total - counts.nowait),
        share(counts.nowait),
        share(waiters),
        share(counts.rejected)
    )
}

/// Numbers of every magnitude up to 2^40.
fn any_size() -> impl Strategy<Value = u64> {
    (0u32..=40, any::<u64>()).prop_map(|(bits, n)| n & ((1 << bits) - 1))
}

prop_compose! {
    fn counts()(n in prop::array::uniform12(any_size())) -> Counts {
        Counts {
            nowait: n[0], spun: n[1], slept: n[2], rejected: n[3] + 1, gave_up: n[4].min(n[3]),
            hold: n[5], hold_max: n[6], spin: n[7], spin_max: n[8], sleep: n[9], sleep_max: n[10],
            wait_max: n[11], ..Counts::default()
        }
    }
}

proptest! {
    #[test]
    fn each_row_equals_the_output_of_printf(counts in counts(), seconds in 0.001f64..1000.0, cpus in 1u32..64) {
        let window = Window { seconds, cpus, ticks_per_second: 2.9e9, cpu_seconds: None };
        let snapshot = Snapshot::of_rows(window, [(Key { lock: 1, caller: 1 }, counts)]);
        let report = MeterReport::new(&snapshot, &|_, _| Some(("a_lock".to_string(), "a_caller".to_string()).into()));
        let text = report.lockmeter();
        let lines: Vec<&str> = text.lines().collect();
        prop_assert_eq!(lines.len(), 7);
        prop_assert_eq!(lines[5], original("a_lock", &counts, &window));
        prop_assert_eq!(lines[6], original("  a_caller", &counts, &window));
        let total = original("*TOTAL*", &counts, &window);
        prop_assert_eq!(lines[3], format!("{}{}", " ".repeat(6), &total[total.find('%').unwrap() + 1..]));
    }
}
