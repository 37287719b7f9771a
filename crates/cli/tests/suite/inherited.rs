//! What a program inherits from the parent of `unspin` is what it inherits without unspin.

use crate::common::{finish, unspin};
use std::fs;
use std::process::Command;

/// Commands that launch a program with the standard streams of unspin.
const LAUNCHERS: [&[&str]; 4] = [
    &["run", "--mutex", "adaptive"],
    &["run", "--waits", "poll"],
    &["run", "--sysv", "rcu"],
    &["meter", "-o", "/dev/null"],
];

/// The command line behind a line of shell, which prepares what it inherits.
fn prepared(by: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{by}exec \"$0\" \"$@\"")])
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

/// The program by itself, and under each launcher.
fn launched(program: &[&str]) -> impl Iterator<Item = (String, Command)> {
    let mut bare = Command::new(program[0]);
    bare.args(&program[1..]);
    let under = LAUNCHERS.map(|launcher| (launcher.join(" "), unspin(&[launcher, program].concat())));
    [("by itself".to_owned(), bare)].into_iter().chain(under)
}

#[test]
fn signals_are_ignored_as_the_parent_of_unspin_left_them() {
    let program = ["grep", "-E", "^Sig(Ign|Blk):", "/proc/self/status"];
    for by in ["", "trap '' PIPE; ", "trap '' CHLD; ", "trap '' PIPE CHLD HUP USR1; "] {
        let mut expected = None;
        for (name, command) in launched(&program) {
            let (out, err, code) = finish(&mut prepared(by, &command));
            assert_eq!((code, out.is_empty()), (Some(0), false), "{by}{name}: {err}");
            assert_eq!(expected.get_or_insert_with(|| out.clone()), &out, "{by}{name}");
        }
    }
}

#[test]
fn writer_to_a_closed_pipe_gets_the_error_or_the_signal() {
    // `head` ends at once; then the writer fails, or is killed.
    let script = "while echo text 2>/dev/null; do :; done; exit 7";
    for (by, status) in [("", "141"), ("trap '' PIPE; ", "7")] {
        for (name, command) in launched(&["sh", "-c", script]) {
            let inner = prepared("", &command);
            let by =
                format!("{by}exec 3>&1; {{ \"$0\" \"$@\"; echo $? >&3; }} | head -n 1 >/dev/null; exit; ");
            let (out, err, _) = finish(&mut prepared(&by, &inner));
            assert_eq!(out.trim(), status, "{by}{name}: {err}");
        }
    }
}

#[test]
fn closed_descriptors_stay_closed() {
    let script =
        "open=0; for n in 0 1 2; do [ -e /proc/$$/fd/$n ] && open=$((open + (1 << n))); done; exit $open";
    for (by, open) in [("<&-", 0b110), (">&-", 0b101), ("2>&-", 0b011), ("<&- >&- 2>&-", 0), ("", 0b111)] {
        for (name, command) in launched(&["sh", "-c", script]) {
            let code = finish(&mut prepared(&format!("exec {by}; "), &command)).2;
            assert_eq!(code, Some(open), "{by} {name}");
        }
    }
}

/// `prove` gives its programs other standard streams, and the same signals.
#[test]
fn judged_program_ignores_the_signals_that_unspin_was_started_to_ignore() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let script = format!("grep SigIgn /proc/self/status >> {}", seen.display());
    let bare = prepared("trap '' PIPE; ", &{
        let mut bare = Command::new("sh");
        bare.args(["-c", &script]);
        bare
    });
    finish(&mut { bare });
    let command = unspin(&["prove", "--time-budget", "1s", "--", "sh", "-c", &script]);
    let (_, err, code) = finish(&mut prepared("trap '' PIPE; ", &command));
    assert_eq!(code, Some(3), "{err}");
    let seen = fs::read_to_string(seen).unwrap();
    let mut lines: Vec<&str> = seen.lines().collect();
    assert!(lines.len() > 1, "{err}");
    lines.dedup();
    assert_eq!(lines.len(), 1, "{lines:?}");
}
