//! The kernel lens and `unspin profile` against perf(1), which observes the same run: Debian's linux-perf.

use crate::common::{compiled, schema, skip, unspin};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use unspin_sys::clock;

/// Whether perf can record this event on all CPUs.
fn perf_records(test: &str, event: &str, folder: &Path) -> bool {
    let probe = Command::new("perf")
        .args(["record", "-q", "-a", "-e", event, "-o"])
        .arg(folder.join("probe"))
        .args(["--", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match probe {
        Ok(status) if status.success() => true,
        Ok(_) => {
            skip(test, "perf may not record: run as root");
            false
        }
        Err(_) => {
            skip(test, "perf cannot be started: install linux-perf");
            false
        }
    }
}

/// Lets perf record what it is asked for on all CPUs while unspin runs with these arguments. False if perf lost records.
fn record(perf: &[&str], unspin: Command, data: &Path) -> bool {
    let mut command = Command::new("perf");
    command
        .args(["record", "-a", "-k", "CLOCK_MONOTONIC", "-m", "8192"])
        .args(perf)
        .arg("-o")
        .arg(data)
        .arg("--");
    command.arg(unspin.get_program()).args(unspin.get_args());
    for (name, value) in unspin.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    !stderr.contains("lost")
}

fn perf(arguments: &[&str], data: &Path) -> String {
    let output = Command::new("perf").args(arguments).arg("-i").arg(data).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Number of waits, and nanoseconds.
type Sums = BTreeMap<String, (u64, u64)>;

/// Pairs the events of `perf script`, in an own way: by thread (an idle thread by its CPU) and address.
fn waits_of(script: &str, from: u64, until: u64) -> Sums {
    let mut waiting = HashMap::<(String, String), (u64, String)>::new();
    let mut sums = Sums::new();
    for line in script.lines() {
        // `12 [000] 34.567890123: lock:contention_begin: 0xffff (flags=SPIN)`
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [tid, cpu, time, event, address, argument] = words[..] else { continue };
        let Some((seconds, nanoseconds)) = time.trim_end_matches(':').split_once('.') else { continue };
        let (Ok(seconds), Ok(nanoseconds)) = (seconds.parse::<u64>(), nanoseconds.parse::<u64>()) else {
            continue;
        };
        let time = seconds * 1_000_000_000 + nanoseconds;
        let waiter = if tid == "0" { cpu } else { tid };
        let key = (waiter.to_owned(), address.to_owned());
        match event {
            "lock:contention_begin:" if (from..until).contains(&time) => {
                let flags = argument.trim_start_matches("(flags=").trim_end_matches(')');
                waiting.entry(key).or_insert_with(|| (time, kind(flags).to_owned()));
            }
            "lock:contention_end:" => {
                if let Some((began, kind)) = waiting.remove(&key) {
                    let sum = sums.entry(kind).or_default();
                    *sum = (sum.0 + 1, sum.1 + time - began);
                }
            }
            _ => {}
        }
    }
    sums
}

/// The kind of lock, of the flags as the kernel prints them.
fn kind(flags: &str) -> &str {
    let has = |flag: &str| flags.split('|').any(|one| one == flag);
    match (has("MUTEX"), has("PERCPU"), has("SPIN"), has("READ"), has("WRITE")) {
        (true, ..) => "mutex",
        (_, true, ..) => "pcpu-sem",
        (_, _, true, true, _) => "rwlock:R",
        (_, _, true, _, true) => "rwlock:W",
        (_, _, true, ..) => "spinlock",
        (_, _, _, true, _) => "rwsem:R",
        (_, _, _, _, true) => "rwsem:W",
        _ => "semaphore",
    }
}

/// The sums of the document, by kind.
fn waits_in(document: &Value) -> Sums {
    let mut sums = Sums::new();
    for lock in document["kernel"]["locks"].as_array().unwrap() {
        for one in lock["uses"].as_array().unwrap() {
            let sum = sums.entry(one["kind"].as_str().unwrap().to_owned()).or_default();
            *sum = (
                sum.0 + one["waits"].as_u64().unwrap(),
                sum.1 + (one["lost"].as_f64().unwrap() * 1e9) as u64,
            );
        }
    }
    sums
}

/// Both record a wait's stack between its beginning and its end, and each one's time contains that of the other: so many
/// nanoseconds of a wait may be the recording.
const RECORDING_NS: u64 = 20_000;

/// Runs of a comparison. Where the hypervisor takes the CPU between one observer's event and the other's, one wait's time
/// differs by milliseconds: so a comparison fails only if it fails in every run.
const RUNS: usize = 6;

/// Compares until the observers agree, or says why it is skipped. The error of the last comparison fails the test.
fn agree(test: &str, mut compare: impl FnMut() -> Option<Result<(), String>>) {
    let mut disagreement = String::new();
    for _ in 0..RUNS {
        match compare() {
            None => return skip(test, "perf lost events"),
            Some(Ok(())) => return,
            Some(Err(difference)) => disagreement = difference,
        }
    }
    panic!("in each of {RUNS} runs, at last: {disagreement}");
}

#[test]
#[ignore = "nightly: compares with what perf measures in the same run; `lenses::waits_for_a_kernel_lock_are_found` is in the first tier"]
fn waits_are_those_that_perf_records() {
    let test = "waits_are_those_that_perf_records";
    let folder = tempfile::tempdir().unwrap();
    if !perf_records(test, "lock:contention_begin", folder.path()) {
        return;
    }
    let Some(program) = compiled("mmap_storm.c", folder.path()) else { return };
    let (data, file) = (folder.path().join("data"), folder.path().join("json"));
    agree(test, || {
        let mut command = unspin(&["meter", "--lens", "kernel", "-a", "--json"]);
        command.arg(&file).arg(&program).arg("2000");
        // perf passes on exit codes, and that of the program is 7.
        let mut shell = Command::new("sh");
        shell.args(["-c", "\"$@\"; [ $? -eq 7 ]", "sh"]).arg(command.get_program()).args(command.get_args());
        shell.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        if !record(&["-e", "lock:contention_begin", "-e", "lock:contention_end"], shell, &data) {
            return None;
        }
        let document: Value = schema::read("locks", &file);
        let ours = waits_in(&document);
        if document["kernel"]["lost_records"] != 0 {
            return Some(Err("unspin lost records".into()));
        }
        let started = document["started"].as_u64().unwrap() - (clock::realtime_ns() - clock::monotonic_ns());
        let until = started + (document["seconds"].as_f64().unwrap() * 1e9) as u64;
        let script = perf(&["script", "-F", "tid,cpu,time,event,trace", "--ns"], &data);
        let theirs = waits_of(&script, started, until);
        assert!(theirs.values().map(|sum| sum.0).sum::<u64>() > 100, "{theirs:?}");
        let is_close = |(kind, &(waits, ns)): (&String, &(u64, u64))| {
            let &(our_waits, our_ns) = ours.get(kind).unwrap_or(&(0, 0));
            let close = |a: u64, b: u64, share: f64, more: u64| {
                a.abs_diff(b) as f64 <= share * b as f64 + more as f64
            };
            // The limits of both windows differ by some events.
            close(our_waits, waits, 0.02, 10) && close(our_ns, ns, 0.05, RECORDING_NS * waits)
        };
        let agrees = theirs.iter().all(is_close);
        Some(if agrees { Ok(()) } else { Err(format!("ours {ours:?}, perf's {theirs:?}")) })
    });
}

/// Shares of the functions in percent, by perf: lines such as `    23.79%  [k] do_syscall_64`.
fn shares_of(report: &str) -> HashMap<String, f64> {
    let share = |line: &str| {
        let (share, function) = line.trim().split_once('%')?;
        let function = function.trim_start().strip_prefix("[k]")?.trim();
        Some((function.to_owned(), share.parse().ok()?))
    };
    report.lines().filter_map(share).collect()
}

#[test]
#[ignore = "nightly: compares with what perf measures in the same run; `lenses::profile_prints_the_table_of_readprofile` is in the first tier"]
fn shares_of_functions_are_those_that_perf_finds() {
    let test = "shares_of_functions_are_those_that_perf_finds";
    let folder = tempfile::tempdir().unwrap();
    if !perf_records(test, "cpu-clock", folder.path()) {
        return;
    }
    let (data, table) = (folder.path().join("data"), folder.path().join("table"));
    agree(test, || {
        // Some seconds: perf also samples the start and the end of unspin, which are then a small part.
        let mut command = unspin(&["profile", "-a", "-F", "3989", "-o"]);
        command.arg(&table).args(["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=12000000"]);
        if !record(&["-e", "cpu-clock:k", "-F", "3989"], command, &data) {
            return None;
        }
        let text = fs::read_to_string(&table).unwrap();
        let rows: Vec<(f64, &str)> = text
            .lines()
            .map(|line| {
                let words: Vec<&str> = line.split_ascii_whitespace().collect();
                (words[0].parse().unwrap(), words[1])
            })
            .collect();
        let total = rows[0].0;
        assert!(total > 2000.0, "{text}");
        let report = perf(&["report", "--no-children", "--stdio", "-F", "overhead,symbol"], &data);
        let theirs = shares_of(&report);
        let is_close = |&(ticks, function): &(f64, &str)| {
            let (ours, theirs) = (100.0 * ticks / total, theirs.get(function).copied().unwrap_or(0.0));
            (ours - theirs).abs() <= 3.0
        };
        Some(if rows[1..11].iter().all(is_close) {
            Ok(())
        } else {
            Err(format!("ours:\n{text}\nperf's:\n{report}"))
        })
    });
}
