//! `unspin semopbench` on the kernel's semaphores: its report, no leftovers.

use crate::common::{Background, gone, sets_exist, unspin, wait_until};
use unspin_sys::child::{self, Signal};
use unspin_sysv::Kind;

#[test]
fn semopbench_makes_every_hand_off() {
    let output = unspin(&["semopbench", "-g", "3", "-s", "4", "-n", "50", "-v"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(
        text.starts_with("3 groups of 4 semaphores, 50 repetitions: 12 processes, 600 hand-offs\n"),
        "{text}"
    );
    assert_eq!(text.matches("  group ").count(), 12, "-v has a line for each process: {text}");
    for figure in [
        "average microseconds per process: ",
        "seconds per repetition: ",
        "hand-offs per second: ",
        "CPU utilisation: ",
        "context switches: ",
    ] {
        assert!(text.lines().any(|l| l.starts_with(figure)), "{figure} is missing: {text}");
    }
}

#[test]
fn ring_of_one_posts_to_itself() {
    let output = unspin(&["semopbench", "-g", "1", "-s", "1", "-n", "10"]).output().unwrap();
    assert!(output.status.success());
}

#[test]
fn reset_of_profile_reports_its_result() {
    let output = unspin(&["semopbench", "-g", "1", "-s", "2", "-n", "1", "-r"]).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("the kernel's profile counters") || text.contains("no profile counters"), "{text}");
}

#[test]
fn sets_are_removed_at_the_end() {
    let output = unspin(&["semopbench", "-g", "3", "-s", "2", "-n", "10", "-d"]).output().unwrap();
    let sets = crate::common::sets_of(&String::from_utf8(output.stderr).unwrap());
    assert_eq!(sets.len(), 3);
    assert!(!sets_exist(&sets));
}

/// Starts a benchmark of several hours, and waits until its processes exist.
fn endless() -> (Background, Vec<i32>, Vec<u32>) {
    let mut run = Background::start(unspin(&["semopbench", "-g", "4", "-s", "4", "-n", "1000000000", "-d"]));
    let sets = run.wait_for_sets();
    run.wait_for_line("group 3 is started");
    let processes = crate::common::children_of(run.pid());
    assert_eq!(processes.len(), 4 * 4 + 1, "16 processes and the keeper of the sets");
    assert!(sets_exist(&sets));
    (run, sets, processes)
}

#[test]
fn killed_master_leaves_no_process_or_set() {
    let (mut run, sets, processes) = endless();
    child::signal(run.pid(), Signal::Kill).unwrap();
    run.wait();
    wait_until("the sets are gone", || !sets_exist(&sets));
    wait_until("the processes are gone", || processes.iter().all(|&pid| gone(pid)));
}

#[test]
fn sigterm_to_master_leaves_no_process_or_set() {
    let (mut run, sets, processes) = endless();
    child::signal_group(run.pid(), Signal::Terminate).unwrap();
    run.wait();
    wait_until("the sets are gone", || !sets_exist(&sets));
    wait_until("the processes are gone", || processes.iter().all(|&pid| gone(pid)));
}

#[test]
fn killed_process_ends_the_benchmark() {
    let (mut run, sets, processes) = endless();
    child::signal(*processes.last().unwrap(), Signal::Kill).unwrap();
    let status = run.wait();
    assert_eq!(status.code(), Some(1));
    let said = run.rest();
    assert!(said.contains("process 3 of group 3 was killed by signal 9"), "{said}");
    assert!(!sets_exist(&sets), "the sets are removed before the master returns");
    assert!(processes.iter().all(|&pid| gone(pid)));
}

#[test]
fn removed_set_ends_the_benchmark() {
    let (mut run, sets, processes) = endless();
    // SAFETY: IPC_RMID takes no argument.
    unsafe { unspin_sys::ipc::semctl(sets[1], 0, unspin_sys::ipc::flag::IPC_RMID, 0) }.unwrap();
    let status = run.wait();
    assert_eq!(status.code(), Some(1));
    let said = run.rest();
    assert!(said.contains("of group 1"), "{said}");
    assert!(!sets_exist(&sets));
    assert!(processes.iter().all(|&pid| gone(pid)));
}

#[test]
fn killed_process_ends_the_benchmark_on_every_engine() {
    let folder = tempfile::tempdir().unwrap();
    for engine in Kind::IN_ARENAS.map(Kind::name) {
        let arena = folder.path().join(engine);
        let run = ["run", "--sysv", engine, "--arena", arena.to_str().unwrap()];
        let workload = ["semopbench", "-g", "4", "-s", "4", "-n", "1000000000", "-d"];
        let mut run = Background::start(unspin(&[&run[..], &workload].concat()));
        run.wait_for_line("group 3 is started");
        let processes = crate::common::children_of(run.pid());
        child::signal(processes[7], Signal::Kill).unwrap();
        assert_eq!(run.wait().code(), Some(1));
        let said = run.rest();
        assert!(said.contains("was killed by signal 9"), "{said}");
        assert!(processes.iter().all(|&pid| gone(pid)));
    }
}
