//! System calls of programs that sleep for semaphores and messages: how many a hand-off takes. The program is the one by which the benchmark measures the time of a hand-off.

use std::path::{Path, PathBuf};
use unspin_e2e::{CallsOfChildren, Run, World, compile, may_trace, scratch};

/// What the processes wait for: a post, zero, {zero, +1 with SEM_UNDO} in one call, a message.
const WAYS: [&str; 4] = ["posts", "zero", "lock", "message"];
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

/// FUTEX_WAKE and FUTEX_WAIT, and one call in ten hand-offs for waits for an object's lock. A hand-off without sleep takes none.
#[test]
fn blocked_hand_off_takes_two_system_calls() {
    let folder = scratch();
    let Some(program) = handoff("blocked_hand_off_takes_two_system_calls", folder.path()) else { return };
    const FEW: u64 = 10;
    const MANY: u64 = 60;
    let hand_offs = (MANY - FEW) * GROUPS * PROCESSES;
    for way in WAYS {
        let [few, many] = [FEW, MANY].map(|rounds| {
            let mut calls = CallsOfChildren::default();
            run(&program, way, rounds).traced(|call| calls.add(call));
            calls.count()
        });
        // Starting, joining and ending takes as many calls in both.
        let more = many.saturating_sub(few);
        eprintln!("{way}: {more} system calls for {hand_offs} hand-offs");
        assert!(10 * more <= 21 * hand_offs, "{way}: {more} system calls for {hand_offs} hand-offs");
    }
}
