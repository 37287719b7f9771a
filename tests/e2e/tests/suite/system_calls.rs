//! System calls of programs that sleep for semaphores: how many a hand-off takes, and that none is made under a set's lock.
//! The program is the one by which the benchmark measures the time of a hand-off.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use unspin_e2e::{CallsOfChildren, Run, World, assert_few_calls, compile, may_trace, scratch};
use unspin_sysv::arena_parts::holds_object_lock;
use unspin_sysv::{Engine, Kind, Options};

/// What the processes wait for: a post, zero, {zero, +1 with SEM_UNDO} in one call. Not a message: threads that send and receive read
/// the kernel's limit of a message once in a tick of its clock, so the number of their calls depends on the time.
const WAYS: [&str; 3] = ["posts", "zero", "lock"];
const GROUPS: u64 = 2;
const PROCESSES: u64 = 6;

/// The program, if it can be compiled and traced here.
fn handoff(test: &str, folder: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/c/handoff.c");
    let program = folder.join("handoff");
    (may_trace(test) && compile(&source, &["-O2"], &program)).then_some(program)
}

fn run(program: &Path, way: &str, rounds: u64) -> Run {
    let [groups, processes, rounds] = [GROUPS, PROCESSES, rounds].map(|n| n.to_string());
    Run::new(program, World::RCU).args([way, &groups, &processes, &rounds])
}

#[test]
fn blocked_hand_off_takes_few_system_calls() {
    let folder = scratch();
    let Some(program) = handoff("blocked_hand_off_takes_few_system_calls", folder.path()) else { return };
    for way in WAYS {
        assert_few_calls(way, GROUPS * PROCESSES, |rounds| {
            let mut calls = CallsOfChildren::default();
            run(&program, way, rounds).traced(|call| calls.add(call));
            calls
        });
    }
}

#[test]
fn no_system_call_under_an_objects_lock() {
    let folder = scratch();
    let Some(program) = handoff("no_system_call_under_an_objects_lock", folder.path()) else { return };
    for way in WAYS.into_iter().chain(["message"]) {
        let run = run(&program, way, 10);
        let engine = Engine::open(Kind::Rcu, &run.arena(), &Options::default(), None).expect("a new arena");
        let mut found: BTreeMap<i64, u32> = BTreeMap::new();
        run.traced(|call| {
            if holds_object_lock(&engine, call.tid).expect("the arena is intact") {
                *found.entry(call.number).or_default() += 1;
            }
        });
        assert!(found.is_empty(), "{way}: system calls under a lock, by number: {found:?}");
    }
}
