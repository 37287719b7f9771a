//! Programs with one planted cause each: `unspin meter` names the cause in the first sentence of its first finding, and
//! says what to do next.

use crate::common::{Background, compiled, finish, is_quiet, schema, skip, unspin, wait_until};
use std::fs;
use std::path::Path;
use std::process::Command;
use unspin_sys::child::{self, Signal};

/// The report of a program of `tests/c`.
fn report(source: &str, folder: &Path) -> Option<String> {
    let program = compiled(source, folder)?;
    let (_, err, _) = finish(&mut unspin(&["meter", program.to_str().unwrap()]));
    Some(err)
}

/// The report in one line, so that sentences can be compared.
fn unwrapped(report: &str) -> String {
    report.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the first finding begins with `first` and names `place`, and the report says `next`.
fn check(source: &str, first: &str, place: &str, next: &str) {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..ATTEMPTS {
        let Some(report) = report(source, folder.path()) else { return };
        let text = unwrapped(&report);
        let finding = first_finding(&report);
        if text.contains(DISTURBED) && !finding.starts_with(first) {
            continue;
        }
        assert!(finding.starts_with(first), "{first}\n{report}");
        assert!(finding.contains(place), "{place}\n{report}");
        assert!(text.contains(next), "{next}\n{report}");
        return;
    }
    skip(source, "other programs disturbed every run");
}

/// How often a cause is looked for while other programs disturb the run: a thread that loses its CPU within a hold is
/// another cause.
const ATTEMPTS: usize = 10;
/// What the report then says.
const DISTURBED: &str = "CEIL is not given";

/// The paragraph before the first line `Next:`.
fn first_finding(report: &str) -> String {
    let before = report.split("\nNext:").next().unwrap();
    unwrapped(before.rsplit("\n\n").next().unwrap())
}

#[test]
#[ignore = "nightly: the cause must show in measured times; crates/report/tests/suite/causes.rs has a recording of it"]
fn long_hold_is_named() {
    check(
        "cause_long_hold.c",
        "table is held long: save+0x",
        "(cause_long_hold.c:",
        "Next: hold it shorter there:",
    );
}

#[test]
#[ignore = "nightly: the cause must show in measured times; crates/report/tests/suite/causes.rs has a recording of it"]
fn one_lock_over_several_data_is_named() {
    check(
        "cause_split.c",
        "all_tables looks like one lock over several data: 4 places hold it",
        "add_to_orders+0x",
        "Next: split it:",
    );
}

#[test]
#[ignore = "nightly: the cause must show in measured times; crates/report/tests/suite/causes.rs has a recording of it"]
fn broadcast_storm_is_named() {
    check(
        "cause_storm.c",
        "Broadcasts for the condition filled wake ",
        "Most broadcasts are at add+0x",
        "Next: wake one thread only (pthread_cond_signal, notify_one) instead of all.",
    );
}

#[test]
#[ignore = "nightly: the cause must show in measured times; crates/report/tests/suite/causes.rs has a recording of it"]
fn convoy_is_named() {
    check(
        "cause_convoy.c",
        "A convoy forms at counter: ",
        "of the attempts sleep",
        "Prove it: unspin prove --mutex adaptive@counter -- /",
    );
}

#[test]
#[ignore = "nightly: the cause must show in measured times; crates/report/tests/suite/causes.rs has a recording of it"]
fn starved_writer_is_named() {
    check(
        "cause_starved_writer.c",
        "Writers of settings starve: readers hold it for ",
        "a writer waits ",
        "Prove it: unspin prove --rwlock rw-writer@settings -- /",
    );
}

#[test]
#[ignore = "nightly: the cause must show in measured times; crates/report/tests/suite/causes.rs has a recording of it"]
fn sleeping_readers_are_named() {
    check(
        "cause_sleeping_readers.c",
        "Readers of settings sleep while they hold it: ",
        "Most of it is held by send+0x",
        "Next: release it there before the thread reads, sends, sleeps or waits",
    );
}

#[test]
#[ignore = "nightly: the cause must show in measured times; crates/report/tests/suite/causes.rs has a recording of it"]
fn contended_readers_are_named() {
    check(
        "cause_contended_readers.c",
        "Readers of routes fight for the cache line of its counter: ",
        "threads acquires or releases it",
        "Prove it: unspin prove --rwlock rw-biased@routes -- /",
    );
}

#[test]
#[ignore = "nightly: the cause must show in measured times; crates/report/tests/suite/causes.rs has a recording of it"]
fn priority_inversion_is_named() {
    check(
        "cause_inversion.c",
        "Priority inversion: threads waited for device while a thread of lower priority held it",
        "",
        "Prove it: unspin prove --mutex pi@device -- /",
    );
}

/// The figures do not distinguish this cause from short holds for another reason. No finding may claim it.
#[test]
fn false_sharing_is_not_claimed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(report) = report("cause_false_sharing.c", folder.path()) else { return };
    assert!(report.contains("cause_false_sharing.c"), "its locks are reported: {report}");
    assert!(!report.contains("false sharing"), "{report}");
}

/// A program that hangs, ended by a signal. Not SIGINT, which a shell ignores for what it starts in the background.
fn interrupted(program: &Path, hangs: impl Fn(u32) -> bool, folder: &Path) -> String {
    let out = folder.join("report");
    let out = out.to_str().unwrap();
    let mut run = Background::start(unspin(&["meter", "-o", out, program.to_str().unwrap()]));
    wait_until("the program hangs", || {
        crate::common::children_of(run.pid()).first().is_some_and(|&pid| hangs(pid))
    });
    // A wait is reported as a deadlock when it has lasted for a tenth of a second.
    std::thread::sleep(std::time::Duration::from_millis(300));
    child::signal(run.pid(), Signal::Terminate).unwrap();
    run.wait();
    fs::read_to_string(out).unwrap()
}

/// Whether all threads of a process of at least `threads` threads sleep, at one moment: each has not run between two looks.
fn sleep_at_once(pid: u32, threads: usize) -> bool {
    let first = switches_of_sleepers(pid);
    first.as_ref().is_some_and(|first| first.len() >= threads) && switches_of_sleepers(pid) == first
}

/// How often each thread of a process has left a CPU; none if one of them does not sleep.
fn switches_of_sleepers(pid: u32) -> Option<Vec<(String, String)>> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let of_thread = |task: std::io::Result<fs::DirEntry>| {
        let status = fs::read_to_string(task.ok()?.path().join("status")).ok()?;
        let field = |name| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let number = |name| field(name).map(str::to_owned);
        field("State:")?.starts_with('S').then_some((number("Pid:")?, number("voluntary_ctxt_switches:")?))
    };
    tasks.map(of_thread).collect()
}

#[test]
fn deadlock_is_named_when_the_program_is_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("cause_deadlock.c", folder.path()) else { return };
    let report = interrupted(&program, |pid| sleep_at_once(pid, 3), folder.path());
    let finding = first_finding(&report);
    assert!(
        finding.starts_with(
            "Deadlock: 2 threads wait for each other in a ring, and none of them can ever go on."
        ),
        "{report}"
    );
    assert!(finding.contains("holds from, taken by transfer+0x"), "{report}");
    assert!(finding.contains("and waits for from in transfer+0x"), "{report}");
    assert!(unwrapped(&report).contains("Next: take these locks in the same order everywhere"), "{report}");
}

/// The interpreter of the distribution, or the first one in PATH; none if there is none.
fn python() -> Option<&'static str> {
    let starts =
        |name: &&str| Command::new(name).args(["-c", ""]).status().is_ok_and(|status| status.success());
    let found = ["/usr/bin/python3", "python3"].into_iter().find(starts);
    if found.is_none() {
        skip("contended_lock_of_python_is_a_lock", "python3 cannot be started: install python3");
    }
    found
}

/// CPython's `threading.Lock` is a POSIX semaphore.
#[test]
fn contended_lock_of_python_is_a_lock() {
    const SCRIPT: &str = "
import threading, time
lock = threading.Lock()
def work():
    for _ in range(100):
        with lock:
            time.sleep(0.002)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
";
    let folder = tempfile::tempdir().unwrap();
    let Some(python) = python() else { return };
    let json = folder.path().join("report.json");
    let (_, err, _) = finish(&mut unspin(&["meter", "--json", json.to_str().unwrap(), python, "-c", SCRIPT]));
    let report: serde_json::Value = schema::read("locks", json);
    let locks = report["locks"].as_array().unwrap();
    let semaphores = locks.iter().filter(|lock| lock["uses"][0]["kind"] == "semaphore");
    // 300 holds of 2 ms. The interpreter has semaphores of its own, on which threads of a busy machine wait longer.
    assert!(semaphores.map(|lock| lock["hold"].as_f64().unwrap()).sum::<f64>() >= 0.5, "{err}");
    let waits = report["waits"].as_array().unwrap();
    assert!(waits.iter().any(|wait| wait["kind"] == "semaphore" && wait["used_as_lock"] == true), "{err}");
    // On a busy machine one thread may have ended before the next starts: then none has waited, and there is no finding.
    if is_quiet() {
        assert!(
            unwrapped(&err)
                .contains("unspin replaces no semaphores, only mutexes, read-write locks and spin locks."),
            "{err}"
        );
        let finding = first_finding(&err);
        assert!(finding.contains(" is held long: "), "{err}");
    }
}

/// In CPython a thread that waits for an event takes a lock twice. Another thread releases it.
#[test]
fn thread_of_python_that_waits_for_an_event_is_no_deadlock() {
    const SCRIPT: &str = "
import os, queue, signal, threading, time
def switches():
    status = open('/proc/self/task/%d/status' % os.getpid()).read()
    return 'State:\tS' in status and status.split('voluntary_ctxt_switches:')[1].split()[0]
def end():
    # The main thread waits for the event when it has slept all the time: a wait for the interpreter is shorter.
    before = False
    while not before or switches() != before:
        before = switches()
        time.sleep(0.4)
    os.kill(os.getpid(), signal.SIGKILL)
threading.Thread(target=end).start()
queue.Queue().get()
";
    let Some(python) = python() else { return };
    let (_, err, _) = finish(&mut unspin(&["meter", python, "-c", SCRIPT]));
    assert!(err.contains("semaphore") && !err.contains("Deadlock"), "{err}");
}

/// A semaphore whose tokens come from another thread is no lock.
#[test]
fn semaphore_between_producer_and_consumer_is_a_wait() {
    let folder = tempfile::tempdir().unwrap();
    let Some(report) = report("consumer.c", folder.path()) else { return };
    assert!(report.contains("filled [semaphore]"), "{report}");
    assert!(!report.contains("(semaphore)"), "{report}");
}
