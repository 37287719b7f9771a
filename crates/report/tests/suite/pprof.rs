//! The profile, as `go tool pprof` reads it.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use unspin_report::Name;
use unspin_report::pprof::{self, Frame};
use unspin_wire::{ANY_DESCRIPTOR, Counts, Image, Key, RecordKind, Snapshot, Window};

/// Two locks, one from two places, waits for a condition and for descriptors, and a lock that no thread waited for.
fn profile() -> Vec<u8> {
    let second = 1_000_000_000;
    let window = Window { seconds: 2.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: None };
    let waited = |n: u64, sleep: u64| Counts { nowait: 10, slept: n, sleep, ..Counts::default() };
    let rows = [
        (Key::new(RecordKind::Mutex, 1, 10), waited(300, second)),
        (Key::new(RecordKind::Mutex, 1, 11), waited(20, second / 4)),
        (Key::new(RecordKind::Write, 2, 10), waited(7, second / 2)),
        (Key::new(RecordKind::Condition, 3, 10), waited(1000, 9 * second)),
        (Key::new(RecordKind::Mutex, 4, 10), waited(0, 0)),
        (Key::new(RecordKind::Epoll, ANY_DESCRIPTOR, 12), waited(1000, 90 * second)),
        (Key::new(RecordKind::Futex, 5, 12), waited(1000, 90 * second)),
    ];
    let snapshot = Snapshot::of_rows(window, rows);
    let names = |_: &Image, key: &Key| -> Option<Name> {
        let lock = ["queue_lock", "table_lock", "filled", "idle_lock", "futex"][key.address() as usize - 1];
        Some((lock.to_string(), format!("caller_{}", key.caller)).into())
    };
    let frame = |function: &str, line: u32| Frame { function: function.into(), file: "queue.c".into(), line };
    let frames = |_: &Image, key: &Key| match key.caller {
        10 => vec![frame("push", 57), frame("worker", 120)],
        _ => Vec::new(),
    };
    let contentions = pprof::contentions(&snapshot, &names, &frames);
    assert_eq!(contentions.len(), 3);
    pprof::encode("./program", &contentions, 1_700_000_000_000_000_000, 2.0)
}

/// Newer releases of Go build the tool when it is first called, and then two tests at once would build it twice.
static BUILD: Mutex<()> = Mutex::new(());

/// Returns the output of `go tool pprof`; `None` where there is no Go.
fn go_tool_pprof(arguments: &[&str]) -> Option<String> {
    let _one = BUILD.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("locks.pb.gz");
    std::fs::write(&file, profile()).unwrap();
    let home = folder.path();
    let run = Command::new("go")
        .args(["tool", "pprof"])
        .args(arguments)
        .arg(&file)
        .env("HOME", home)
        .env("PPROF_TMPDIR", home)
        // Where Go keeps what it has built, despite the other home.
        .env("GOCACHE", go_cache())
        .env("GOTOOLCHAIN", "local")
        .output();
    let tool = match run {
        Ok(output) if output.status.success() => Ok(String::from_utf8(output.stdout).unwrap()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            // Past the capturing of the test harness.
            let _ = writeln!(std::io::stderr(), "SKIPPED pprof: there is no go; install golang-go");
            return None;
        }
        Err(e) => Err(e.to_string()),
    };
    match tool {
        // A Go that was built without its tools.
        Err(text) if text.contains("no such tool") => {
            let _ = writeln!(std::io::stderr(), "SKIPPED pprof: this go has no pprof; install golang-go");
            None
        }
        tool => Some(tool.unwrap()),
    }
}

/// Returns the folder of Go's cache; without Go, or without one, a folder of this crate.
fn go_cache() -> PathBuf {
    let asked = Command::new("go").args(["env", "GOCACHE"]).output();
    let answer =
        asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    match answer.starts_with('/') {
        true => answer.into(),
        false => concat!(env!("CARGO_TARGET_TMPDIR"), "/go").into(),
    }
}

/// The function checks how many contentions there are; this needs no tool to read them.
#[test]
fn waits_are_not_in_the_profile() {
    assert!(!profile().is_empty());
}

#[test]
fn pprof_top_lists_locks() {
    let Some(text) = go_tool_pprof(&["-top"]) else { return };
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("flat"))
        .skip(1)
        .map(|line| line.split_whitespace().collect())
        .collect();
    // Flat and cumulated delay, name.
    let row = |at: usize| (rows[at][0], rows[at][3], rows[at][5]);
    assert!(text.contains("Type: delay"), "{text}");
    assert_eq!(row(0), ("1250ms", "1250ms", "queue_lock"), "{text}");
    assert_eq!((row(1).0, row(1).1), ("500ms", "500ms"), "{text}");
    assert!(rows[1][5..].join(" ") == "table_lock (writes)", "{text}");
    assert!(rows.iter().any(|row| row[0] == "0" && row[3] == "1500ms" && row[5] == "push"), "{text}");
}

#[test]
fn raw_profile_has_lines_and_labels() {
    let Some(text) = go_tool_pprof(&["-raw"]) else { return };
    assert!(text.contains("contentions/count delay/nanoseconds[dflt]"), "{text}");
    assert!(text.contains("push queue.c:57") && text.contains("worker queue.c:120"), "{text}");
    assert!(text.contains("300 1000000000") && text.contains("lock:[queue_lock]"), "{text}");
    assert!(text.contains("kind:[rwlock]") && text.contains("caller_11"), "{text}");
    assert!(text.contains("Duration: 2"), "{text}");
}
