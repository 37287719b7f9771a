//! `unspin hackbench`: output of the original, all messages arrive, no leftovers.

use crate::common::{Background, as_nobody, finish, gone, nobody_can_run_unspin, skip, unspin, wait_until};
use std::process::Command;
use unspin_sys::child::{self, Signal};

/// Command lines that the original accepts too.
const ORIGINALS: [&[&str]; 7] = [
    &["-g", "2"],
    &["--groups=1", "--fds=3", "--loops=7", "--datasize=1"],
    &["-p", "-g", "2", "-f", "5"],
    &["-i", "-l", "10", "-g", "1"],
    &["-T", "-g", "3", "-s", "300"],
    &["-T", "-P", "-g", "1", "-l", "5"],
    &["-P", "--threads", "--pipe", "-g", "1", "-l", "5"],
];

/// The output, without the digits of the time.
fn printed(command: &mut Command) -> String {
    let (out, err, code) = finish(command);
    assert_eq!((err.as_str(), code), ("", Some(0)), "{out}");
    let (header, time) = out.rsplit_once("Time: ").expect("it ends with its time");
    let (seconds, fraction) = time.trim_end().split_once('.').unwrap();
    assert!(
        seconds.parse::<u32>().is_ok() && fraction.len() == 3 && fraction.parse::<u32>().is_ok(),
        "{out}"
    );
    header.to_owned()
}

#[test]
fn hackbench_prints_the_lines_of_the_original() {
    if Command::new("hackbench").arg("--help").output().is_err() {
        skip("hackbench_prints_the_lines_of_the_original", "there is no hackbench: install rt-tests");
        return;
    }
    for options in ORIGINALS {
        let ours = printed(unspin(&["hackbench"]).args(options));
        let theirs = printed(Command::new("hackbench").args(options));
        assert_eq!(ours, theirs, "{options:?}");
    }
}

#[test]
fn hackbench_argument_is_the_number_of_groups() {
    assert_eq!(
        printed(&mut unspin(&["hackbench", "3", "-f", "2", "-l", "5"])),
        "Running in process mode with 3 groups using 4 file descriptors each (== 12 tasks)\n\
         Each sender will pass 5 messages of 100 bytes\n"
    );
}

#[test]
fn transport_queue_implies_threads() {
    assert_eq!(
        printed(&mut unspin(&["hackbench", "2", "-f", "3", "--transport", "queue", "--capacity", "5"])),
        "Running in threaded mode with 2 groups using 3 queues of 5 messages each (== 12 tasks)\n\
         Each sender will pass 100 messages of 100 bytes\n"
    );
}

#[test]
fn hackbench_runs_under_the_preload_library() {
    for workload in [&["hackbench", "1", "-l", "5"][..], &["hackbench", "2", "--transport", "queue"]] {
        printed(unspin(&["run", "--sysv", "kernel"]).args(workload));
    }
}

#[test]
fn meter_names_group_locks_after_their_creator() {
    let (out, err, code) = finish(&mut unspin(&[
        "meter",
        "--level",
        "counts",
        "--all",
        "hackbench",
        "3",
        "--transport",
        "queue",
    ]));
    assert_eq!(code, Some(0), "{out}{err}");
    let lock =
        err.lines().find(|line| line.contains("mutex initialised at")).unwrap_or_else(|| panic!("{err}"));
    // The compiler decides which functions of the creator it inlines.
    assert!(lock.contains("(3) ") && lock.contains("hackbench::queue::"), "{lock}");
}

/// The number of wait4(2) on x86-64: /proc/PID/syscall begins with it.
const WAIT4: &str = "61 ";

/// Starts a benchmark of several hours, and waits until all its processes work.
fn endless() -> (Background, Vec<u32>) {
    let run = Background::start(unspin(&["hackbench", "2", "-f", "3", "-l", "1000000000"]));
    let mut workers = Vec::new();
    wait_until("all processes have been forked", || {
        workers = crate::common::children_of(run.pid());
        workers.len() == 12
    });
    // The master waits for its children after it has started them.
    let call = format!("/proc/{}/syscall", run.pid());
    wait_until("they have been started", || {
        let now = std::fs::read_to_string(&call).unwrap_or_default();
        now.starts_with(WAIT4)
    });
    (run, workers)
}

#[test]
fn killed_master_leaves_no_process() {
    let (mut run, workers) = endless();
    child::signal(run.pid(), Signal::Kill).unwrap();
    run.wait();
    wait_until("the processes are gone", || workers.iter().all(|&pid| gone(pid)));
}

#[test]
fn interrupt_ends_master_and_workers() {
    use std::os::unix::process::ExitStatusExt;
    const SIGINT: i32 = 2;
    let (mut run, workers) = endless();
    child::signal_group(run.pid(), Signal::PassedOn(SIGINT)).unwrap();
    assert_eq!(run.wait().signal(), Some(SIGINT));
    wait_until("the processes are gone", || workers.iter().all(|&pid| gone(pid)));
}

#[test]
fn killed_worker_ends_the_benchmark() {
    let (mut run, workers) = endless();
    child::signal(workers[4], Signal::Kill).unwrap();
    assert_eq!(run.wait().code(), Some(1));
    let said = run.rest();
    assert_eq!(
        said,
        "unspin: hackbench: sender 1 of group 0 was killed by signal 9 before all messages had been passed\n"
    );
    assert!(workers.iter().all(|&pid| gone(pid)), "all have been waited for");
}

/// The exit code and standard error under limits that a shell sets.
fn limited(limit: &str, arguments: &str) -> (Option<i32>, String) {
    let script = format!("{limit} && exec {} hackbench {arguments}", env!("CARGO_BIN_EXE_unspin"));
    let (_, err, code) = finish(Command::new("bash").args(["-c", &script]));
    (code, err)
}

#[test]
fn too_few_descriptors_are_reported_in_one_line() {
    for arguments in ["-T 5", "-T -p 5"] {
        let (code, err) = limited("ulimit -n 100", arguments);
        assert_eq!(code, Some(1), "{err}");
        assert!(err.starts_with("unspin: hackbench: cannot make channel "), "{err}");
        assert!(err.contains(" of 100, which take 200 descriptors of one process (fewer groups or -f, or a higher ulimit -n): Too many open files"), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    let (code, err) = limited("ulimit -n 30", "1 -f 50");
    assert_eq!((code, err.lines().count()), (Some(1), 1), "{err}");
    assert!(err.contains("cannot make channel") && err.contains("a higher ulimit -n"), "{err}");
    assert_eq!(
        limited("ulimit -n 100", "5 -l 5"),
        (Some(0), String::new()),
        "a process has those of one group"
    );
}

#[test]
fn too_many_tasks_are_refused_before_any_starts() {
    let (out, err, code) = finish(&mut unspin(&["hackbench", "100000000"]));
    assert_eq!((out.as_str(), code), ("", Some(2)), "{err}");
    assert!(
        err.starts_with("unspin: hackbench: -g 100000000 -f 20: that is 4000000000 tasks, and kernel."),
        "{err}"
    );
    let (out, err, code) = finish(&mut unspin(&["hackbench", "-s", "1000000000000000"]));
    assert_eq!((out.as_str(), code), ("", Some(2)), "{err}");
    assert!(err.contains("MB of memory are available"), "{err}");
}

/// Root has no limit.
#[test]
fn too_few_processes_are_reported_in_one_line() {
    const LIMIT: &str = "ulimit -u 20";
    let _alone = crate::common::PROCESSES_OF_NOBODY.lock();
    if !nobody_can_run_unspin("too_few_processes_are_reported_in_one_line") {
        return;
    }
    let script = format!("{LIMIT} && exec {} hackbench 5", env!("CARGO_BIN_EXE_unspin"));
    let (_, err, code) = finish(&mut as_nobody(&script));
    assert_eq!((code, err.lines().count()), (Some(1), 1), "{err}");
    assert!(err.starts_with("unspin: ") && err.contains("cannot fork process "), "{err}");
    assert!(err.contains("ulimit -u"), "{err}");
}
