//! What the preload says on standard error, and when it says nothing.

use std::process::Command;
use unspin_e2e::{Outcome, Run, World, build, scratch};
use unspin_sysv::Kind;

fn calls(world: World, set: impl FnOnce(Run) -> Run) -> Option<Outcome> {
    let program = build("calls")?;
    Some(set(Run::new(program.path(), world)).output())
}

/// The calls answer this.
fn assert_all_refused(outcome: &Outcome) {
    for row in [
        "semget",
        "semop",
        "semtimedop",
        "semctl",
        "by number",
        "SEM_UNDO",
        "semctl IPC_RMID",
        "msgctl",
        "shmdt",
    ] {
        let line = outcome.stdout.lines().find(|line| line.starts_with(&format!("{row}:")));
        assert!(line.is_some_and(|line| line.ends_with(" ENOSYS")), "{row} is {line:?} in\n{outcome}");
    }
}

fn assert_one_line(outcome: &Outcome, parts: &[&str]) {
    let mut lines = outcome.stderr.lines();
    let line = lines.next().unwrap_or_default();
    assert!(lines.next().is_none(), "more than one line: {outcome}");
    assert!(line.starts_with("unspin: "), "{outcome}");
    for part in parts {
        assert!(line.contains(part), "no {part:?} in {line:?}");
    }
}

#[test]
fn an_unknown_engine_is_named() {
    let Some(outcome) = calls(World::RCU, |run| run.env("UNSPIN_SYSV", "rcv")) else { return };
    assert_all_refused(&outcome);
    assert_one_line(&outcome, &["\"rcv\"", &Kind::choices(), "ENOSYS"]);
}

#[test]
fn an_arena_that_cannot_be_opened_is_named() {
    for world in World::ENGINES {
        let set = |run: Run| run.env("UNSPIN_ARENA", "/nonexistent/unspin/arena");
        let Some(outcome) = calls(world, set) else { return };
        assert_all_refused(&outcome);
        assert_one_line(&outcome, &["/nonexistent/unspin/arena", "ENOSYS"]);
    }
}

/// The kernel's lists would show objects that the program cannot reach. A kernel without System V IPC has no such
/// lists.
#[test]
fn a_program_that_is_refused_finds_no_lists() {
    let Some(program) = build("nolists") else { return };
    let refused = "open: ENOENT\nopen64: ENOENT\nopenat: ENOENT\nby number: ENOENT\nfopen: ENOENT\nfreopen: ENOENT\n\
                   another file: opened\nsemget: -1 ENOSYS\n";
    let parts = ["System V calls fail with ENOSYS, as on a kernel without System V IPC"];
    for world in World::ENGINES {
        let run = Run::new(program.path(), world).env("UNSPIN_ARENA", "/nonexistent/unspin/arena");
        let outcome = run.output();
        assert_eq!(outcome.stdout, refused, "{outcome}");
        assert_one_line(&outcome, &["arena /nonexistent/unspin/arena: No such file", parts[0]]);

        let directory = scratch();
        let path = directory.path().join("arena");
        let outcome = Run::new(program.path(), world).env("UNSPIN_ARENA", &path).args([&path]).output();
        assert_eq!(outcome.stdout, format!("before: 1\n{refused}"), "{outcome}");
        let named = format!("arena {}: was cut short or overwritten", path.display());
        assert_one_line(&outcome, &[&named, parts[0]]);
    }
    let outcome = Run::new(program.path(), World::RCU).env("UNSPIN_SYSV", "rcv").output();
    assert_eq!(outcome.stdout, refused, "{outcome}");
    // Where nothing is refused they are there.
    for world in World::PRELOADED {
        let outcome = Run::new(program.path(), world).output();
        assert!(outcome.stdout.starts_with("open: opened\n"), "{world}: {outcome}");
    }
}

#[test]
fn a_program_without_semaphores_hears_nothing() {
    let set = |run: Run| run.env("UNSPIN_ARENA", "/nonexistent/unspin/arena").args(["none"]);
    let Some(outcome) = calls(World::RCU, set) else { return };
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("no semaphore was used: 0\n", ""));
    assert!(outcome.status.success());
}

#[test]
fn a_file_that_is_no_arena_is_left_alone() {
    let directory = scratch();
    let path = directory.path().join("precious");
    let contents = "precious ".repeat(4096);
    std::fs::write(&path, &contents).unwrap();
    let Some(outcome) = calls(World::RCU, |run| run.env("UNSPIN_ARENA", &path)) else { return };
    assert_all_refused(&outcome);
    assert_one_line(&outcome, &[path.to_str().unwrap(), "ENOSYS"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), contents);
}

#[test]
fn a_recording_that_is_missing_costs_nothing_but_a_line() {
    let directory = scratch();
    let path = directory.path().join("recording");
    for world in World::PRELOADED {
        let Some(outcome) = calls(world, |run| run.env("UNSPIN_RECORD", &path)) else { return };
        assert!(outcome.stdout.starts_with("semget: an id\nsemop: 0\n"), "{outcome}");
        let first = outcome.stderr.lines().next().unwrap_or_default();
        assert!(first.contains(path.to_str().unwrap()), "{outcome}");
    }
}

/// The recording's folder was removed with it: the user has left `unspin top`, and the program goes on. Its children
/// must not complain.
#[test]
fn a_recording_that_was_dropped_is_not_missed() {
    for world in World::PRELOADED {
        let set = |run: Run| run.env("UNSPIN_RECORD", "/nonexistent/unspin/recording");
        let Some(outcome) = calls(world, set) else { return };
        assert!(outcome.stdout.starts_with("semget: an id\nsemop: 0\n"), "{outcome}");
        assert!(!outcome.stderr.contains("recording"), "{outcome}");
    }
}

/// Calls are refused, the program goes on, and one line says why.
#[test]
fn a_spoiled_arena_is_reported() {
    let Some(program) = build("spoiled") else { return };
    for world in World::ENGINES {
        for how in ["cut", "overwrite"] {
            let directory = scratch();
            let arena = directory.path().join("arena");
            let run = Run::new(program.path(), world).env("UNSPIN_ARENA", &arena);
            let outcome = run.args([arena.as_os_str(), how.as_ref()]).output();
            assert!(outcome.status.success(), "{world}, {how}: {outcome}");
            for row in [
                "semget: -1 ENOSYS",
                "GETVAL: -1 ENOSYS",
                "semop: refused",
                "semop: -1 ENOSYS",
                "shmget: -1 ENOSYS",
            ] {
                assert!(
                    outcome.stdout.lines().any(|line| line == row),
                    "{world}, {how}: no {row:?} in {outcome}"
                );
            }
            assert!(outcome.stdout.contains("asleep: -1 refused"), "{world}, {how}: {outcome}");
            assert!(outcome.stdout.contains("what is attached stays: 0\nand is the kernel's: "), "{outcome}");
            assert_one_line(&outcome, &["cut short or overwritten", "ENOSYS"]);
        }
    }
}

/// Opening a FIFO waits for a writer, unless it is opened with care.
#[test]
fn fifo_in_place_of_a_file_is_refused_and_not_waited_for() {
    let Some(program) = build("pthread/versions") else { return };
    let directory = scratch();
    let fifo = directory.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("there is mkfifo").success());
    let run = |variable| Run::new(program.path(), World::Kernel).env(variable, &fifo).output();
    for (variable, says) in [("UNSPIN_PLAN", "no lock is replaced"), ("UNSPIN_RECORD", "nothing is recorded")]
    {
        let outcome = run(variable);
        assert!(outcome.status.success(), "{outcome}");
        assert_one_line(&outcome, &[says, "fifo"]);
    }
    let outcome = run("UNSPIN_TALLY");
    assert!(outcome.status.success() && outcome.stderr.is_empty(), "{outcome}");
}
