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

/// The version of this build: `0.1.0 (COMMIT)`.
fn version() -> String {
    let (out, _, code) = finish(&mut unspin(&["--version"]));
    assert_eq!(code, Some(0));
    out.trim_end().strip_prefix("unspin ").expect("the name is followed by the version").to_owned()
}

/// A program of the name that does this, and answers `--version` like one of this version. A line of the file `asked` stands for
/// each answer.
fn fake(folder: &Path, version: &str, code: &str) {
    let file = folder.join("unspin-lab");
    let asked = folder.join("asked").display().to_string();
    let answer =
        format!("if [ \"$1\" = --version ]; then echo >> '{asked}'; echo 'unspin-lab {version}'; exit; fi");
    script(&file, &format!("#!/bin/sh\n{answer}\n{code}\n"));
}

/// A script that can be executed at once, in place of one of that name.
fn script(file: &Path, text: &str) {
    let (written, copied) = (file.with_extension("written"), file.with_extension("copied"));
    fs::write(&written, text).unwrap();
    fs::set_permissions(&written, fs::Permissions::from_mode(0o755)).unwrap();
    unspin_e2e::copy_program(&written, &copied);
    fs::rename(copied, file).unwrap();
}

/// Runs `unspin volano` with a cache of its own: `remember` removes the texts that other tests keep in a shared one.
fn volano_with_own_cache(folder: &Path) -> (String, String, Option<i32>) {
    finish(alone(folder, "/usr/bin:/bin").env("XDG_CACHE_HOME", folder.join("cache")).arg("volano"))
}

/// Prints the arguments.
const PRINT: &str = "echo \"fake $*\"; exit 7";

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
    fake(installed.path(), &version(), PRINT);
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
    fake(folder.path(), &version(), "echo \"$UNSPIN_EXECUTABLE\"");
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
    fake(folder.path(), &version(), PRINT);
    fake(installed.path(), &version(), "exit 9");
    let path = format!("{}:/usr/bin:/bin", installed.path().display());
    assert_eq!(finish(alone(folder.path(), &path).args(["volano"])).2, Some(7));
}

/// Versions before this check print no commit.
#[test]
fn program_of_another_build_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("unspin-lab");
    let commands: [(&str, &[&str]); 7] = [
        ("volano", &["volano"]),
        ("reproduce", &["reproduce"]),
        ("dbt1", &["help", "dbt1"]),
        ("volano", &["meter", "volano"]),
        ("dbt1", &["run", "--waits", "poll", "dbt1"]),
        ("volano", &["prove", "--quiet", "volano"]),
        ("dbt1", &["prove", "--quiet", "dbt1"]),
    ];
    for found in ["0.1.0", "0.1.0 (no commit)"] {
        fake(folder.path(), found, PRINT);
        for (command, arguments) in commands {
            let (out, err, code) = finish(alone(folder.path(), "/usr/bin:/bin").args(arguments));
            let expected = format!(
                "unspin: {command}: unspin is of version {}, {} is of version {found}: build both from one checkout: cargo install \
                 --path crates/cli && cargo install --path crates/lab\n",
                version(),
                file.display()
            );
            assert_eq!((out.as_str(), err, code), ("", expected, Some(126)), "{arguments:?}");
        }
    }
}

/// One that an earlier build has left beside `unspin` does not hide the one that is installed.
#[test]
fn program_of_this_build_is_preferred() {
    let (folder, installed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fake(folder.path(), "0.0.9", "exit 9");
    fake(installed.path(), &version(), PRINT);
    let path = format!("{}:/usr/bin:/bin", installed.path().display());
    assert_eq!(finish(alone(folder.path(), &path).args(["volano"])).2, Some(7));
}

/// A failure to start is not taken for another version, and not kept.
#[test]
fn program_that_does_not_start_is_quoted_and_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let fails = "[ -e \"$0.works\" ] || { echo 'libm.so.6: not found' >&2; exit 1; }";
    let file = folder.path().join("unspin-lab");
    script(&file, &format!("#!/bin/sh\n{fails}\necho 'unspin-lab {}'\n", version()));
    let run = || volano_with_own_cache(folder.path());
    let said = "unspin: volano: unspin-lab ended with exit status: 1\n  | libm.so.6: not found\n";
    assert_eq!((run().1.as_str(), run().1.as_str()), (said, said));
    fs::write(folder.path().join("unspin-lab.works"), "").unwrap();
    assert_eq!(run().2, Some(0));
}

#[test]
fn version_of_a_program_is_asked_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = || volano_with_own_cache(folder.path());
    fake(folder.path(), &version(), PRINT);
    for _ in 0..2 {
        assert_eq!(run(), ("fake volano\n".into(), String::new(), Some(7)));
    }
    assert_eq!(fs::read_to_string(folder.path().join("asked")).unwrap(), "\n");
    fake(folder.path(), "0.1.0", PRINT);
    assert_eq!(run().2, Some(126), "another file has the name");
}

#[test]
fn list_of_commands_has_those_of_the_program() {
    let (out, _, code) = finish(&mut unspin(&["--help"]));
    assert_eq!(code, Some(0));
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for command in [
        "volano Let the users of chat rooms ",
        "dbt1 Let emulated browsers use a web shop ",
        "reproduce Repeat the measurements of the five historical reports ",
        "vm Run a command on another kernel, in a virtual machine ",
    ] {
        assert!(words.contains(command), "{out}");
    }
}
