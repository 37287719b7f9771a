//! System calls of a hand-off of `unspin semopbench` under `unspin run --sysv rcu`.

use crate::common::unspin;
use std::process::Stdio;
use unspin_e2e::{CallsOfChildren, assert_few_calls, may_trace, trace};

const GROUPS: u64 = 2;
const SEMAPHORES: u64 = 8;

/// The calls of the processes of the rings, and of the one that keeps the sets.
fn calls(repetitions: u64) -> CallsOfChildren {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let arena = folder.path().join("arena");
    let [groups, semaphores, repetitions] = [GROUPS, SEMAPHORES, repetitions].map(|n| n.to_string());
    let mut command = unspin(&["run", "--sysv", "rcu", "--arena", arena.to_str().unwrap(), "semopbench"]);
    command.args(["-g", &groups, "-s", &semaphores, "-n", &repetitions]).stdout(Stdio::null());
    let mut calls = CallsOfChildren::default();
    let status = trace(&mut command, |call| calls.add(call)).unwrap();
    assert!(status.success(), "{status}");
    calls
}

#[test]
fn blocked_hand_off_takes_few_system_calls() {
    if may_trace("blocked_hand_off_takes_few_system_calls") {
        assert_few_calls("semopbench", GROUPS * SEMAPHORES, calls);
    }
}
