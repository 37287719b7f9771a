//! `unspin meter --firefox`: the waits of the lenses on a timeline. They need root, or CAP_PERFMON and CAP_SYSLOG, and tracefs.

use crate::common::{Background, compiled, end_observation, finish, skip, unspin, wait_for_sleeps};
use crate::lenses_waits::{json, may_observe, start_endless};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use unspin_e2e::firefox::{FirefoxMarker, FirefoxThread, threads};

fn read(file: &Path) -> Vec<FirefoxThread> {
    let profile: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    threads(&profile).unwrap_or_else(|e| panic!("{e}"))
}

fn markers(threads: &[FirefoxThread]) -> impl Iterator<Item = &FirefoxMarker> {
    threads.iter().flat_map(|thread| &thread.markers)
}

/// Number and seconds of the markers that fit.
fn sum<'m>(markers: impl Iterator<Item = &'m FirefoxMarker>) -> (u64, f64) {
    markers.fold((0, 0.0), |(n, seconds), one| (n + 1, seconds + (one.end - one.start) as f64 * 1e-9))
}

/// The command of a run with a timeline and a report as JSON.
fn with_files(lenses: &str, folder: &Path) -> (Command, PathBuf, PathBuf) {
    let [timeline, report] = ["timeline.json", "report.json"].map(|name| folder.join(name));
    let mut command = unspin(&["meter", "--lens", lenses, "--firefox"]);
    command.arg(&timeline).arg("--json").arg(&report);
    (command, timeline, report)
}

/// Both come from the same run, so that they are equal, whatever that run was like.
fn assert_same_times(threads: &[FirefoxThread], report: &Value, text: &str) {
    for (kind, waits, seconds) in [
        ("unspin-futex", &report["futex"]["total"]["waits"], &report["futex"]["total"]["waited"]),
        ("unspin-kernel", &report["kernel"]["total"]["waits"], &report["kernel"]["total"]["lost"]),
        ("unspin-off-cpu", &Value::Null, &report["off_cpu"]["blocked"]),
    ] {
        let Some(seconds) = seconds.as_f64() else { continue };
        let (n, sum) = sum(markers(threads).filter(|marker| marker.kind == kind));
        assert!((sum - seconds).abs() < 1e-6, "{kind}: {sum} s of markers, {seconds} s of the table: {text}");
        assert!(waits.as_u64().is_none_or(|waits| waits == n), "{kind}: {n} markers, {waits} waits: {text}");
    }
}

#[test]
fn markers_have_the_times_of_the_tables() {
    let test = "markers_have_the_times_of_the_tables";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("futex_waits.c", folder.path()).filter(|_| may_observe(test)) else {
        return;
    };
    let (mut command, timeline, report) = with_files("pthread,futex,kernel,off-cpu", folder.path());
    let (_, text, code) = finish(command.arg(&program));
    assert_eq!(code, Some(0), "{text}");
    let (threads, report) = (read(&timeline), json(&report));
    assert_same_times(&threads, &report, &text);
    // By name, too.
    let mut table = BTreeMap::<&str, (u64, f64)>::new();
    for row in report["futex"]["futexes"].as_array().unwrap() {
        let sums = table.entry(row["name"].as_str().unwrap()).or_default();
        sums.0 += row["waits"].as_u64().unwrap();
        sums.1 += row["waited"].as_f64().unwrap();
    }
    table.retain(|_, (waits, _)| *waits > 0);
    assert!(
        ["known_mutex", "known_condition"].iter().all(|name| table.keys().any(|key| key.starts_with(name)))
    );
    for (name, (waits, seconds)) in &table {
        let of_name = |one: &&FirefoxMarker| one.kind == "unspin-futex" && one.name == *name;
        let (n, sum) = sum(markers(&threads).filter(of_name));
        assert!(n == *waits && (sum - seconds).abs() < 1e-6, "{name}: {n}, {sum} s: {text}");
    }
    assert_eq!(threads.iter().filter(|one| one.process == "futex_waits").count(), 3, "{threads:?}");
    // Of the samples of off-cpu each stack has its time, rounded.
    for thread in &threads {
        let of_lens = thread.markers.iter().filter(|one| one.kind == "unspin-off-cpu");
        let weight: i64 = thread.samples.iter().map(|one| one.weight).sum();
        let stacks: BTreeSet<_> = of_lens.clone().map(|one| &one.stack).collect();
        let apart = (sum(of_lens).1 * 1e3 - weight as f64).abs();
        assert!(apart <= 0.5 * stacks.len() as f64 + 1e-6, "{apart} ms: {thread:?}");
    }
    let last = text.trim_end().lines().next_back().unwrap();
    assert!(
        last.ends_with("open it at profiler.firefox.com (Load a profile from file), or at ui.perfetto.dev"),
        "{last}"
    );
}

/// A wait that goes on from before the observation to its end takes all of it.
#[test]
fn running_process_has_its_tracks() {
    let test = "running_process_has_its_tracks";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("futex_waits.c", folder.path()).filter(|_| may_observe(test)) else {
        return;
    };
    let (mut child, waits) = start_endless(&program);
    let (mut command, timeline, report) = with_files("futex,off-cpu", folder.path());
    command.args(["-p", &child.pid().to_string()]);
    let meter = Background::start(command);
    wait_for_sleeps(&meter, waits, 6);
    let (text, code) = end_observation(meter);
    child.end();
    assert_eq!(code, Some(0), "{text}");
    let threads = read(&timeline);
    assert_same_times(&threads, &json(&report), &text);
    let pid = child.pid().to_string();
    assert!(!threads.is_empty() && threads.iter().all(|one| one.pid == pid), "{threads:?}");
    assert!(threads.iter().all(|one| one.name == "futex_waits"), "{threads:?}");
}

#[test]
fn program_without_waits_gives_a_timeline() {
    let test = "program_without_waits_gives_a_timeline";
    if !may_observe(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut command, timeline, _) = with_files("futex", folder.path());
    let (_, text, code) = finish(command.arg("true"));
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(read(&timeline).len(), 0);
    assert!(text.contains("timeline.json: 0 waits of 0 threads"), "{text}");
}

#[test]
fn lens_without_times_is_refused() {
    for lens in [&[][..], &["--lens", "pthread"]] {
        let (_, message, code) = finish(unspin(&["meter", "--firefox", "/dev/null"]).args(lens).arg("true"));
        assert_eq!(code, Some(2), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.contains("--firefox") && message.contains("--lens futex,off-cpu"), "{message}");
    }
}

/// What the Firefox Profiler's own code makes of the file.
#[test]
#[ignore = "nightly: needs a package of npm"]
fn firefox_profiler_reads_the_file() {
    let test = "firefox_profiler_reads_the_file";
    let Some(reader) = std::env::var_os("UNSPIN_TEST_PROFILER_CLI") else {
        return skip(
            test,
            "because UNSPIN_TEST_PROFILER_CLI does not name the profiler-cli of @firefox-devtools",
        );
    };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("futex_waits.c", folder.path()).filter(|_| may_observe(test)) else {
        return;
    };
    let (mut command, timeline, _) = with_files("futex,kernel,off-cpu", folder.path());
    let (_, text, code) = finish(command.arg(&program));
    assert_eq!(code, Some(0), "{text}");
    let sessions = folder.path().join("sessions");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&reader);
        let (stdout, stderr, code) = finish(
            command.args(arguments).args(["--session", "unspin"]).env("PROFILER_CLI_SESSION_DIR", &sessions),
        );
        assert_eq!(code, Some(0), "{arguments:?}: {stdout}{stderr}");
        stdout
    };
    run(&["load", timeline.to_str().unwrap()]);
    let listed: Value = serde_json::from_str(&run(&["thread", "list", "--json"])).unwrap();
    run(&["stop"]);
    let threads = read(&timeline);
    let mut read_by_us: Vec<u64> = threads.iter().map(|one| one.markers.len() as u64).collect();
    let of = |one: &Value| one["markerCount"].as_u64().unwrap();
    let mut read_by_it: Vec<u64> = listed["threads"].as_array().unwrap().iter().map(of).collect();
    read_by_us.sort_unstable();
    read_by_it.sort_unstable();
    assert_eq!(read_by_it, read_by_us);
}
