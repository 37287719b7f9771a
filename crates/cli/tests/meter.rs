//! `unspin meter` and `unspin report`: the program is as it is without them, and the report names its locks.

mod common;

use common::{Background, compiled, finish, unspin, wait_until};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use unspin_sys::child::{self, Signal};

/// The report as JSON of a run of the program, and the exit code.
fn metered(arguments: &[&str], program: &Path, folder: &Path) -> (serde_json::Value, Option<i32>) {
    let json = folder.join("report.json");
    let all = [&["meter", "--json", json.to_str().unwrap()], arguments, &[program.to_str().unwrap()]].concat();
    let (_, err, code) = finish(&mut unspin(&all));
    let text = fs::read_to_string(&json).unwrap_or_else(|e| panic!("{e}: {err}"));
    (serde_json::from_str(&text).unwrap(), code)
}

#[test]
fn the_exit_code_is_the_programs() {
    for (script, code) in [("exit 0", 0), ("exit 42", 42), ("kill -9 $$", 137), ("kill -TERM $$", 143)] {
        let (.., status) = finish(&mut unspin(&["meter", "sh", "-c", script]));
        assert_eq!(status, Some(code), "{script}");
    }
}

#[test]
fn the_programs_streams_are_its_own() {
    use std::io::Write;
    let mut command = unspin(&["meter", "sh", "-c", "read line; echo out $line; echo err >&2"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    process.stdin.take().unwrap().write_all(b"in\n").unwrap();
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"out in\n");
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.starts_with("err\n"), "the report comes after everything else: {err}");
}

#[test]
fn a_signal_to_unspin_is_passed_on_and_the_report_printed() {
    let script = "trap 'echo got TERM >&2; exit 5' TERM; echo ready >&2; while :; do sleep 0.1; done";
    let mut run = Background::start(unspin(&["meter", "sh", "-c", script]));
    run.wait_for_line("ready");
    child::signal(run.pid(), Signal::Terminate).unwrap();
    assert_eq!(run.wait().code(), Some(5));
    let rest = run.rest();
    assert!(rest.starts_with("got TERM\n") && rest.contains("recorded"), "{rest}");
}

/// As ^C at a terminal: to the whole process group, by the kernel. A signal that somebody sends to the group comes to the
/// program twice, which is why it counts here.
#[test]
fn an_interrupt_ends_the_program_and_not_unspin() {
    let script = "trap 'exit 6' INT; echo ready >&2; while :; do sleep 0.1; done";
    let mut run = Background::start(unspin(&["meter", "sh", "-c", script]));
    run.wait_for_line("ready");
    child::signal_group(run.pid(), Signal::PassedOn(2)).unwrap();
    assert_eq!(run.wait().code(), Some(6));
    assert!(run.rest().contains("recorded"));
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let mut shell = Command::new("sh");
    let script = "trap '' HUP USR1; exec \"$@\"";
    shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_unspin"), "meter", "sh", "-c"]);
    shell.arg("kill -HUP $$; kill -USR1 $$; exit 9").env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    assert_eq!(finish(shell.process_group(0)).2, Some(9));
}

#[test]
fn what_outlives_the_program_is_left_alone_and_named() {
    let Some(folder) = tempfile::tempdir().ok() else { return };
    let file = folder.path().join("pid");
    let script = format!("sleep 1000 >/dev/null 2>&1 & echo $! > {}", file.display());
    let (_, err, code) = finish(&mut unspin(&["meter", "sh", "-c", &script]));
    assert_eq!(code, Some(0), "{err}");
    let pid: u32 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    assert!(!common::gone(pid), "it goes on");
    child::signal(pid, Signal::Kill).unwrap();
    wait_until("it is gone", || common::gone(pid));
}

#[test]
fn a_program_without_locks_is_said_to_have_none() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("nothing.c", folder.path()) else { return };
    let (_, err, code) = finish(&mut unspin(&["meter", program.to_str().unwrap()]));
    assert_eq!(code, Some(3));
    assert!(err.starts_with("No lock was recorded: nothing that ran called a lock function of libc"), "{err}");
}

#[test]
fn nothing_is_left_in_memory() {
    let (out, ..) = finish(&mut unspin(&["meter", "sh", "-c", "echo $UNSPIN_RECORD"]));
    let recording = Path::new(out.trim());
    assert!(recording.is_absolute() && recording.ends_with("recording"), "{out}");
    assert!(!recording.exists() && !recording.parent().unwrap().exists());
}

#[test]
fn a_stored_recording_gives_the_same_report() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("stored");
    let workload = ["--sysv", "rcu", "semopbench", "-g", "1", "-s", "2", "-n", "50"];
    let all = [&["meter", "-o", "table", "--record", recording.to_str().unwrap()][..], &workload].concat();
    let (_, err, code) = finish(unspin(&all).current_dir(folder.path()));
    assert_eq!((code, err.as_str()), (Some(0), ""), "the report is in a file");
    let printed = fs::read_to_string(folder.path().join("table")).unwrap();
    assert!(printed.contains("sysv registry lock"), "{printed}");
    let (replayed, err, code) = finish(&mut unspin(&["report", recording.to_str().unwrap()]));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(replayed, printed);
}

#[test]
fn a_recording_is_read_while_it_is_made_and_after_a_crash() {
    let script = "echo $UNSPIN_RECORD >&2; exec sleep 1000";
    let mut run = Background::start(unspin(&["meter", "sh", "-c", script]));
    let path = run.wait_for_line("unspin-meter-").trim().to_owned();
    let (out, err, code) = finish(&mut unspin(&["report", &path]));
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    let program = common::children_of(run.pid())[0];
    child::signal(run.pid(), Signal::Kill).unwrap();
    run.wait();
    let (out, err, code) = finish(&mut unspin(&["report", &path]));
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    child::signal(program, Signal::Kill).unwrap();
    fs::remove_dir_all(Path::new(&path).parent().unwrap()).unwrap();
}
