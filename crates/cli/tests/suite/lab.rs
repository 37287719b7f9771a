//! The program `unspin-lab`: found beside `unspin` or in `PATH`, or named with the command that installs it.

use crate::common::{finish, program, unspin};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A copy of unspin in a folder without `unspin-lab`.
fn alone(folder: &Path, path: &str) -> Command {
    let file = folder.join("unspin");
    if !file.exists() {
        unspin_e2e::copy_program(&program(), &file);
    }
    let mut command = Command::new(file);
    command.env("PATH", path).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// A program of the name that prints its arguments.
fn fake(folder: &Path) {
    let file = folder.join("unspin-lab");
    fs::write(&file, "#!/bin/sh\necho \"fake $*\"\nexit 7\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn missing_program_is_named_with_the_command_that_installs_it() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&str, &[&str]); 9] = [
        ("volano", &["volano", "--rooms", "1"]),
        ("dbt1", &["dbt1", "--help"]),
        ("dbt1", &["help", "dbt1"]),
        ("volano", &["meter", "volano"]),
        ("dbt1", &["run", "--waits", "poll", "dbt1"]),
        ("volano", &["prove", "--quiet", "volano"]),
        ("dbt1", &["prove", "--quiet", "dbt1"]),
        ("reproduce", &["reproduce", "--quick", "hackbench"]),
        ("reproduce", &["help", "reproduce"]),
    ];
    for (command, arguments) in cases {
        let (out, err, code) = finish(alone(folder.path(), "/nonexistent").args(arguments));
        let expected = format!(
            "unspin: {command} needs the program unspin-lab, which is not installed: cargo install --path crates/lab\n"
        );
        assert_eq!((out.as_str(), err, code), ("", expected, Some(127)), "{arguments:?}");
    }
}

#[test]
fn program_in_path_gets_arguments_and_gives_its_exit_code() {
    let (folder, installed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fake(installed.path());
    let path = format!("relative:{}:/usr/bin:/bin", installed.path().display());
    let run = |arguments: &[&str]| finish(alone(folder.path(), &path).args(arguments));
    let answer = |arguments: &str| (format!("fake {arguments}\n"), String::new(), Some(7));
    assert_eq!(run(&["volano", "--rooms", "a b", "-h"]), answer("volano --rooms a b -h"));
    assert_eq!(run(&["help", "dbt1"]), answer("dbt1 --help"));
    assert_eq!(run(&["reproduce", "--quick", "-h"]), answer("reproduce --quick -h"));
    assert_eq!(run(&["run", "--waits", "poll", "volano", "--users", "3"]).2, Some(7));
}

/// `unspin-lab` runs workloads of `unspin`, and measures no other build than the one that was typed.
#[test]
fn program_is_told_which_unspin_executed_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("unspin-lab");
    fs::write(&file, "#!/bin/sh\necho \"$UNSPIN_EXECUTABLE\"\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = alone(folder.path(), "/usr/bin:/bin");
    let (out, err, code) = finish(command.args(["reproduce"]).env("UNSPIN_EXECUTABLE", "/an/outer/unspin"));
    let own = folder.path().canonicalize().unwrap().join("unspin");
    assert_eq!((out, err.as_str(), code), (format!("{}\n", own.display()), "", Some(0)));
    // A program that is run does not get it.
    let mut command = unspin(&["run", "--sysv", "kernel", "sh", "-c", "echo ${UNSPIN_EXECUTABLE-none}"]);
    assert_eq!(finish(command.env("UNSPIN_EXECUTABLE", "/an/outer/unspin")).0, "none\n");
}

#[test]
fn program_beside_unspin_comes_before_that_in_path() {
    let (folder, installed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fake(folder.path());
    let other = installed.path().join("unspin-lab");
    fs::write(&other, "#!/bin/sh\nexit 9\n").unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", installed.path().display());
    assert_eq!(finish(alone(folder.path(), &path).args(["volano"])).2, Some(7));
}

#[test]
fn list_of_commands_has_those_of_the_program() {
    let (out, _, code) = finish(&mut unspin(&["--help"]));
    assert_eq!(code, Some(0));
    for line in [
        "  volano      Let the users of chat rooms ",
        "  dbt1        Let emulated browsers use a web shop ",
        "  reproduce   Repeat the measurements of the five historical reports ",
    ] {
        assert!(out.contains(line), "{out}");
    }
}
