//! `unspin prove` where a session does not go to plan: programs that do not end, input that they do not get, runs that fail.

use crate::common::{Background, compiled, finish_with_progress, unspin, wait_until};
use std::fs;
use std::path::Path;
use std::process::Command;
use unspin_sys::child::{self, Signal};

/// SIGINT, by its number.
const INTERRUPT: Signal = Signal::PassedOn(2);
/// What the user reads when the budget is over.
const STILL: &str = "the program has not ended after ";

/// A text without line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `unspin` with these arguments. Its standard output is the file.
fn into_file(arguments: &[&str], file: &Path) -> Command {
    let unspin = unspin(arguments);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec \"$0\" \"$@\" > '{}'", file.display())]);
    command.arg(unspin.get_program()).args(unspin.get_args());
    for (name, value) in unspin.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// The report after ^C, which comes when prove has said that the program has not ended.
fn interrupted_report(options: &[&str], program: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let command = [&["prove", "--time-budget", "3s"], options, &["--"], program].concat();
    let mut run = Background::start(into_file(&command, &out));
    let said = run.wait_for_line(STILL);
    assert!(said.contains("prove compares whole runs, so it needs a program that ends by itself"), "{said}");
    assert!(said.contains("^C ends the run and prints what was found"), "{said}");
    child::signal(run.pid(), INTERRUPT).unwrap();
    assert_eq!(run.wait().code(), Some(130), "{}", run.rest());
    fs::read_to_string(out).unwrap()
}

/// Issue 14: prove was silent, and after ^C gave a bound on the gain.
#[test]
fn deadlock_is_the_first_finding_of_a_run_that_does_not_end() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("cause_deadlock.c", folder.path()) else { return };
    let program = program.to_str().unwrap();
    for options in [&[][..], &["--mutex", "adaptive"]] {
        let out = interrupted_report(options, &[program]);
        let text = flat(&out);
        assert!(text.contains("Proven: nothing, because the metered run was interrupted after "), "{out}");
        assert!(text.contains(". Deadlock: 2 threads wait for each other in a ring"), "{out}");
        assert!(text.contains("Next: take these locks in the same order everywhere"), "{out}");
        assert!(!text.contains("times as fast") && !text.contains("Interrupted: "), "{out}");
    }
}

#[test]
fn deadlock_is_found_at_the_time_limit() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("cause_deadlock.c", folder.path()) else { return };
    let command = ["prove", "--time-budget", "2s", "--time-limit", "6s", program.to_str().unwrap()];
    let (out, err, code) = finish_with_progress(&mut unspin(&command));
    assert_eq!(code, Some(4), "{out}{err}");
    assert!(err.contains(STILL), "{err}");
    let text = flat(&out);
    assert!(
        text.contains("Proven: nothing, because the program did not end within ")
            && text.contains(" s (--time-limit)"),
        "{out}"
    );
    assert!(text.contains("Deadlock: 2 threads wait for each other in a ring"), "{out}");
}

/// As a server that waits for clients.
#[test]
fn server_without_an_end_is_explained() {
    for options in [&[][..], &["--waits", "poll"]] {
        let out = interrupted_report(options, &["sh", "-c", "sleep 1000; :"]);
        let text = flat(&out);
        let next = "for a server give --server, --ready and --load";
        assert!(text.contains(next), "{out}");
    }
}

/// Issue 14: `prove … sort < file` said only that no lock was recorded.
#[test]
fn standard_input_with_data_is_explained_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines");
    fs::write(&file, "b\na\n").unwrap();
    let command = ["prove", "--waits", "poll", "--", "sort"];
    let input = fs::File::open(&file).unwrap();
    let (out, err, _) = finish_with_progress(unspin(&command).stdin(input));
    let said = "unspin: standard input is a file, and is not passed on: under prove the program's standard input is empty.";
    assert!(err.starts_with(said), "{out}{err}");
    let (_, err, _) = finish_with_progress(&mut unspin(&command));
    assert!(!err.contains("standard input"), "{err}");
}

/// Issue 14: ^C in the first round printed no figure, and "1 rounds cannot prove one".
#[test]
fn runs_that_were_complete_are_shown_after_an_interrupt() {
    let folder = tempfile::tempdir().unwrap();
    let (out, count) = (folder.path().join("out"), folder.path().join("count"));
    let call = concat!(env!("CARGO_BIN_EXE_unspin"), " semopbench -g 1 -s 1 -n 1 > /dev/null");
    // The warm-up and a run of the first round end, and the next run does not.
    let script = format!(
        "{call}; echo >> {0}; if [ $(wc -l < {0}) -ge 6 ]; then exec sleep 1000; fi; echo tps: 125",
        count.display()
    );
    let command =
        ["prove", "--metric", "tps", "--higher-is-better", "--sysv", "rcu", "--", "sh", "-c", &script];
    let mut run = Background::start(into_file(&command, &out));
    let has_begun = |runs| fs::read_to_string(&count).is_ok_and(|lines| lines.lines().count() >= runs);
    wait_until("the sixth run goes on", || has_begun(6));
    child::signal(run.pid(), INTERRUPT).unwrap();
    assert_eq!(run.wait().code(), Some(130), "{}", run.rest());
    let out = fs::read_to_string(out).unwrap();
    let text = flat(&out);
    assert!(text.contains("no complete round of 4 configurations"), "{out}");
    assert!(text.contains("Proven: nothing, because no round was complete."), "{out}");
    assert!(out.contains("The 5 runs that ended, the warm-up first\n"), "{out}");
    assert!(text.contains("kernel 125.0 ") && text.contains("rcu 125.0"), "{out}");
    assert!(!text.contains("cannot prove one") && !text.contains("0 rounds"), "{out}");
}

/// Issue 14: binary output reached the terminal, and that of a program that did not fail explained nothing.
#[test]
fn output_of_a_failed_run_is_escaped() {
    let script =
        r"i=0; while [ $i -lt 20 ]; do echo line $i; i=$((i+1)); done; printf 'a\033[2J\377\n'; exit 7";
    let command = ["prove", "--quiet", "--runs", "6", "--sysv", "rcu", "--", "sh", "-c", script];
    let (out, err, code) = finish_with_progress(&mut unspin(&command));
    assert_eq!(code, Some(4), "{out}{err}");
    assert!(out.contains("  | line 19\n  | a\\x1b[2J\\xff\n"), "{out}");
    assert!(!out.contains("line 12\n") && !out.contains('\x1b'), "{out}");
    let command = ["prove", "--quiet", "--runs", "6", "--sysv", "rcu", "--", "sh", "-c", "echo fine"];
    let (out, err, code) = finish_with_progress(&mut unspin(&command));
    assert_eq!(code, Some(4), "{out}{err}");
    assert!(out.contains("no System V call reached the engine rcu"), "{out}");
    assert!(!out.contains("The end of its output") && !out.contains("fine\n"), "{out}");
}

/// Issue 14: the time of the metered run was taken for that of a run, and no proof fitted.
#[test]
#[ignore = "nightly: compares runs with the time budget; crates/stats/tests/suite/session.rs has such sessions with made-up times"]
fn estimate_is_that_of_a_run_without_the_meter() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("planned.c", folder.path()) else { return };
    let script = format!(
        "n=1; [ -n \"$UNSPIN_RECORD\" ] && n=100; while [ $n -gt 0 ]; do {} system=100 adaptive=200; n=$((n-1)); done",
        program.display()
    );
    // Some 30 runs and two metered ones are needed: with the time of the metered run for all of them they do not fit.
    let options = ["--time-budget", "90s", "--metric", "tps", "--higher-is-better"];
    let command = [&["prove"], &options[..], &["--", "sh", "-c", &script]].concat();
    let (out, err, code) = finish_with_progress(&mut unspin(&command));
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(!err.contains("a proof needs about"), "{err}");
}

/// Issue 14: the meter said that no kind of lock helps, and prove tried one.
#[test]
#[ignore = "nightly: the cause must show in measured times; the unit tests `no_kind_is_tried_for_a_lock_that_is_held_long` and `long_hold_is_explained` have made-up ones"]
fn no_kind_is_tried_where_holds_are_long() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("cause_long_hold.c", folder.path()) else { return };
    let (out, err, code) =
        finish_with_progress(&mut unspin(&["prove", "--time-budget", "20s", program.to_str().unwrap()]));
    assert_eq!(code, Some(3), "{out}{err}");
    let text = flat(&out);
    assert!(text.contains("No kind of lock is tried where holds are long"), "{out}");
    assert!(text.contains("Next: hold it shorter there:"), "{out}");
    assert!(!text.contains("adaptive") && !text.contains("--time-budget"), "{out}");
}

#[test]
fn semaphore_set_that_a_failed_run_left_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made");
    let script = format!("ipcmk -S 1 | sed 's/.*: //' > '{}'; exit 1", made.display());
    let command = ["prove", "--time-budget", "5s", "--mutex", "steal", "--", "sh", "-c", &script];
    let (out, _, code) = finish_with_progress(&mut unspin(&command));
    let id = fs::read_to_string(made).unwrap().trim().to_owned();
    assert!(Command::new("ipcrm").args(["-s", &id]).status().unwrap().success());
    assert_eq!(code, Some(4), "{out}");
    let advice = "if no other program created them, remove them: ipcrm ";
    let text = flat(&out);
    let (_, ids) = text.split_once(advice).unwrap_or_else(|| panic!("{out}"));
    // Sets of other tests, which run meanwhile, may stand there too.
    assert!(format!("{ids} ").contains(&format!("-s {id} ")), "{id}: {out}");
}
