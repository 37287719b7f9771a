//! What the environment decides about executors. Each test runs the test program again, with other variables.

use std::path::Path;
use std::process::{Command, Output};
use unspin_report::MeterReport;
use unspin_runqueue::lock::{LOCK_NAME, describe};
use unspin_runqueue::queue::Policy;
use unspin_runqueue::{Builder, Executor, spawn, yield_now};
use unspin_wire::{Config, Level, Recording};

/// Runs the test `name` of this file with these variables. Without them that test does nothing.
fn program(name: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([&format!("environment::{name}"), "--exact", "--nocapture"])
        .env("PROGRAM", name)
        .envs(variables.iter().copied());
    command.output().unwrap()
}

fn is_the_program(name: &str) -> bool {
    std::env::var("PROGRAM").is_ok_and(|program| program == name)
}

fn printed(output: &Output) -> String {
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    text
}

/// Keeps the locks of the queues busy.
fn work(executor: &Executor) {
    let all = executor.spawn(async {
        let tasks: Vec<_> = (0..200).map(|_| spawn(yield_now())).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    executor.block_on(all).unwrap();
}

#[test]
fn prints_its_run_queues() {
    if !is_the_program("prints_its_run_queues") {
        return;
    }
    for policy in Policy::ALL {
        match Builder::new().policy(policy).workers(2).build() {
            Ok(executor) => println!("{policy} became {}", executor.policy()),
            Err(error) => println!("{policy} failed: {error}"),
        }
    }
}

#[test]
fn environment_overrides_the_run_queue_of_every_builder() {
    for (value, used) in
        [("global", ["global", "global"]), ("percpu", ["percpu", "percpu"]), ("", ["global", "percpu"])]
    {
        let text = printed(&program("prints_its_run_queues", &[("UNSPIN_RUNQUEUE", value)]));
        for (asked, used) in ["global", "percpu"].into_iter().zip(used) {
            assert!(text.contains(&format!("{asked} became {used}\n")), "{value}: {text}");
        }
    }
}

#[test]
fn unknown_run_queue_in_the_environment_fails_the_build() {
    let text = printed(&program("prints_its_run_queues", &[("UNSPIN_RUNQUEUE", "fair")]));
    let said = "global failed: UNSPIN_RUNQUEUE=fair: there are the run queues global and percpu\n";
    assert!(text.contains(said) && !text.contains("became"), "{text}");
}

fn recording(path: &Path) -> Recording {
    Recording::create(path, Config { level: Level::Full, ..Config::default() }).unwrap()
}

fn report(recording: &Recording) -> MeterReport {
    recording.finish(None);
    MeterReport::from_recording(recording, &|_, key| describe(key).map(Into::into))
}

/// Builds executors before and after a fork, and ends without dropping them.
#[test]
fn works_in_two_processes() {
    if !is_the_program("works_in_two_processes") {
        return;
    }
    let executor = Builder::new().workers(2).build().unwrap();
    work(&executor);
    // SAFETY: the child uses no lock that another thread of its parent may hold: libc's are released in it.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let own = Builder::new().workers(2).build().unwrap();
        work(&own);
        // SAFETY: ends the process at once, with its threads.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: waits for the child, and writes its status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    core::mem::forget(executor);
}

#[test]
fn executors_record_where_the_environment_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording");
    let recording = recording(&path);
    printed(&program("works_in_two_processes", &[("UNSPIN_RECORD", path.to_str().unwrap())]));
    let report = report(&recording);
    assert_eq!(report.processes.len(), 2, "{:?}", report.processes);
    let lock = report.lock(LOCK_NAME).expect("the lock has a row");
    assert!((2..=4).contains(&lock.locks), "locks of two processes are different locks: {}", lock.locks);
    let callers: Vec<_> = lock.callers().map(|(_, caller)| caller.row.name.as_str()).collect();
    assert!(["push", "yield", "pop"].iter().all(|name| callers.contains(name)), "{callers:?}");
    let pushes = lock.callers().find(|(_, caller)| caller.row.name == "push").unwrap().1;
    assert!(pushes.row.attempts >= 402, "one for each task of both processes: {}", pushes.row.attempts);
}

#[test]
fn killed_program_leaves_its_rows() {
    if is_the_program("killed_program_leaves_its_rows") {
        let executor = Builder::new().workers(2).build().unwrap();
        work(&executor);
        std::process::abort();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording");
    let recording = recording(&path);
    let output = program("killed_program_leaves_its_rows", &[("UNSPIN_RECORD", path.to_str().unwrap())]);
    assert!(!output.status.success());
    let report = report(&recording);
    assert!(report.lock(LOCK_NAME).expect("the lock has a row").row.attempts >= 402);
}

#[test]
fn recording_that_cannot_be_opened_is_reported_and_the_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other");
    std::fs::write(&other, "no recording").unwrap();
    let text = printed(&program("prints_its_run_queues", &[("UNSPIN_RECORD", other.to_str().unwrap())]));
    assert_eq!(text.matches("unspin-runqueue: nothing is recorded in ").count(), 1, "{text}");
    assert!(text.contains("percpu became percpu"), "{text}");
    let gone = folder.path().join("gone/recording");
    let text = printed(&program("prints_its_run_queues", &[("UNSPIN_RECORD", gone.to_str().unwrap())]));
    assert!(!text.contains("nothing is recorded"), "{text}");
}

#[test]
fn executors_count_themselves_in_the_tally() {
    use unspin_wire::{Tally, TallyCount};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tally");
    let tally = Tally::create(&path, 0o600).unwrap();
    let variables = [("UNSPIN_TALLY", path.to_str().unwrap()), ("UNSPIN_RUNQUEUE", "global")];
    printed(&program("prints_its_run_queues", &variables));
    let counts = [TallyCount::GlobalRunQueues, TallyCount::PerCpuRunQueues].map(|count| tally.get(count));
    assert_eq!(counts, [2, 0]);
    printed(&program("prints_its_run_queues", &variables[..1]));
    assert_eq!(tally.get(TallyCount::PerCpuRunQueues), 1);
}
