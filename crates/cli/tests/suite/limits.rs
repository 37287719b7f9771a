//! Limits of the user, the process and the file systems. One line names the limit and the remedy; or what is optional is left out, and
//! the program runs as by itself.

use crate::common::{as_nobody, finish, may_mount, nobody_can_run_unspin, unspin};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A command behind a line of bash, which sets a limit.
fn limited(limit: &str, arguments: &[&str]) -> (String, String, Option<i32>) {
    let command = unspin(arguments);
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("{limit} && exec \"$0\" \"$@\"")]).arg(command.get_program()).args(arguments);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    finish(&mut shell)
}

/// Stores the library in the cache, which no limit then prevents.
fn unpack() {
    let (_, err, code) = finish(&mut unspin(&["run", "--waits", "poll", "true"]));
    assert_eq!(code, Some(0), "{err}");
}

const PROGRAM: [&str; 3] = ["sh", "-c", "echo text; exit 7"];

#[test]
fn program_runs_and_is_counted_where_files_may_have_nothing() {
    unpack();
    let (out, err, code) =
        limited("ulimit -f 0", &[&["run", "--waits", "poll"], PROGRAM.as_slice()].concat());
    assert_eq!((out.as_str(), err.as_str(), code), ("text\n", "", Some(7)));
    let verbose = limited("ulimit -f 0", &[&["run", "-v", "--waits", "poll"], PROGRAM.as_slice()].concat());
    assert_eq!((verbose.0.as_str(), verbose.2), ("text\n", Some(7)));
    assert!(verbose.1.contains("not counted") && verbose.1.contains("ulimit -f"), "{}", verbose.1);
}

#[test]
fn recording_has_the_size_that_a_file_may_have() {
    unpack();
    let meter = [&["meter", "-o", "/dev/null"], PROGRAM.as_slice()].concat();
    let (out, err, code) = limited("ulimit -f 1000", &meter);
    assert_eq!((out.as_str(), err.as_str(), code), ("text\n", "", Some(7)));
    for (limit, size) in [("ulimit -f 4", None), ("ulimit -f 1000", Some("1G"))] {
        let asked = size.map_or(Vec::new(), |size| vec!["--size", size]);
        let (out, err, code) = limited(limit, &[&["meter"], asked.as_slice(), &PROGRAM].concat());
        assert_eq!((out.as_str(), err.lines().count(), code), ("", 1, Some(125)), "{err}");
        // No recording is so small as the first limit.
        assert_eq!((err.contains("ulimit -f"), err.contains("--size")), (true, size.is_some()), "{err}");
    }
    let prove = [&["prove", "--runs", "6"], PROGRAM.as_slice()].concat();
    let (_, err, _) = limited("ulimit -f 4", &prove);
    assert!(!err.contains("--size"), "it has no such option: {err}");
}

#[test]
fn measurement_without_descriptors_names_the_limit() {
    unpack();
    let prove = ["prove", "--runs", "6", "--sysv", "rcu", "sh", "-c", "true"];
    for limit in ["ulimit -n 6", "ulimit -n 10"] {
        let (_, err, code) = limited(limit, &prove);
        assert_eq!(code, Some(125), "{limit}: {err}");
        assert!(err.contains("ulimit -n"), "{limit}: {err}");
    }
}

/// unspin handles the signal, and its programs do not.
#[test]
fn program_that_writes_a_long_file_gets_the_signal() {
    unpack();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let script = format!("(head -c 5000000 /dev/zero > {}) 2>/dev/null; exit $?", file.display());
    for (trap, status) in [("", 128 + 25), ("trap '' XFSZ;", 1)] {
        for launcher in [["run", "--waits", "poll"], ["meter", "-o", "/dev/null"]] {
            let arguments = [launcher.as_slice(), &["sh", "-c", &script]].concat();
            let (_, err, code) = limited(&format!("{trap} ulimit -f 1000"), &arguments);
            assert_eq!(code, Some(status), "{launcher:?}: {err}");
        }
    }
}

#[test]
fn small_stack_suffices() {
    unpack();
    let meter = [&["meter", "-o", "/dev/null"], PROGRAM.as_slice()].concat();
    let run = [&["run", "--waits", "system"], PROGRAM.as_slice()].concat();
    for arguments in [meter, run] {
        let (out, err, code) = limited("ulimit -s 64", &arguments);
        assert_eq!((out.as_str(), err.as_str(), code), ("text\n", "", Some(7)), "{arguments:?}");
    }
    for arguments in [["report", "--leftovers"], ["prove", "--help"], ["run", "--help"]] {
        let (_, err, code) = limited("ulimit -s 64", &arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {err}");
    }
}

/// How much is left of a limit of a few pages is a matter of chance: the kernel chooses where a stack begins. So the program
/// is started many times.
#[test]
fn program_that_starts_with_six_pages_of_stack_starts_under_the_library() {
    unpack();
    let script =
        "ulimit -s 24; for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do /bin/true || exit 1; done";
    for replaced in [["--waits", "system"], ["--waits", "poll"]] {
        let arguments = [&["run"], replaced.as_slice(), &["sh", "-c", script]].concat();
        let (_, err, code) = limited("true", &arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {err}");
    }
}

#[test]
fn few_descriptors_lose_neither_the_exit_code_nor_a_folder() {
    unpack();
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    let script = format!("echo > {}; exit 7", ran.display());
    for descriptors in 4..14 {
        let limit = format!("ulimit -n {descriptors}");
        let (_, err, code) = limited(&limit, &["meter", "-o", "/dev/null", "sh", "-c", &script]);
        let has_run = fs::remove_file(&ran).is_ok();
        assert_eq!(code, Some(if has_run { 7 } else { 125 }), "{limit}: {err}");
        if !has_run {
            assert!(err.contains("ulimit -n"), "{limit}: {err}");
        }
        for word in
            err.split(|c: char| c.is_whitespace() || c == ':').filter(|word| word.contains("unspin-meter-"))
        {
            let folder = Path::new(word).parent().unwrap();
            assert!(!folder.exists(), "{limit}: {err}");
        }
    }
}

/// Root has no limit.
#[test]
fn few_processes_lose_neither_the_exit_code_nor_the_report() {
    const TEST: &str = "few_processes_lose_neither_the_exit_code_nor_the_report";
    let _alone = crate::common::PROCESSES_OF_NOBODY.lock();
    if !nobody_can_run_unspin(TEST) {
        return;
    }
    for processes in 1..6 {
        for command in ["run --waits poll", "meter --level counts", "meter"] {
            let cache = tempfile::tempdir().unwrap();
            fs::set_permissions(cache.path(), std::os::unix::fs::PermissionsExt::from_mode(0o1777)).unwrap();
            let script = format!(
                "export XDG_CACHE_HOME={}; ulimit -u {processes} && exec {} {command} sh -c 'exit 7'",
                cache.path().display(),
                env!("CARGO_BIN_EXE_unspin")
            );
            let (_, err, code) = finish(&mut as_nobody(&script));
            assert!(!err.contains("panicked"), "{processes} {command}: {err}");
            match code {
                Some(7) if command.starts_with("meter") => {
                    assert!(err.contains("recorded"), "{processes} {command}: {err}");
                }
                Some(7) => {}
                code => {
                    assert_eq!(code, Some(125), "{processes} {command}: {err}");
                    assert!(err.contains("ulimit -u"), "{processes} {command}: {err}");
                }
            }
        }
    }
}

/// In a namespace with such a file system of its own.
#[test]
fn full_memory_file_system_is_named() {
    if !may_mount("full_memory_file_system_is_named") {
        return;
    }
    unpack();
    let full = "mount -t tmpfs -o size=64k none /dev/shm && head -c 50000 /dev/zero > /dev/shm/x";
    let command = unspin(&[]);
    for blocks in [53_000, 65_536] {
        let script = format!(
            "{full} && (head -c {blocks} /dev/zero > /dev/shm/x; true) 2>/dev/null && exec \"$0\" \"$@\""
        );
        let mut shell = Command::new("unshare");
        shell
            .args(["--mount", "bash", "-c", &script])
            .arg(command.get_program())
            .args(["meter", "sh", "-c", "exit 7"]);
        shell.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        let (_, err, code) = finish(&mut shell);
        assert!(!err.contains("Bad address"), "{err}");
        assert!(
            code == Some(7) || code == Some(125) && err.contains("No space left on device"),
            "{code:?} {err}"
        );
    }
}

/// The reason of a run that failed because its output did not fit.
#[test]
fn full_file_system_under_output_is_the_reason_of_a_failed_run() {
    unpack();
    let prove =
        ["prove", "--waits", "poll", "--runs", "6", "sh", "-c", "head -c 9000000 /dev/zero || exit 9"];
    let (out, err, code) = limited("ulimit -f 2000", &prove);
    assert_eq!(code, Some(4), "{out}{err}");
    assert!(format!("{out}{err}").replace('\n', " ").contains("its output did not fit"), "{out}{err}");
    if !may_mount("full_file_system_under_output_is_the_reason_of_a_failed_run") {
        return;
    }
    let command = unspin(&prove);
    let small = "mount -t tmpfs -o size=1m none /mnt && export TMPDIR=/mnt && exec \"$0\" \"$@\"";
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "bash", "-c", small]).arg(command.get_program()).args(prove);
    shell.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    let (out, err, code) = finish(&mut shell);
    assert_eq!(code, Some(4), "{out}{err}");
    assert!(
        format!("{out}{err}").replace("\n", " ").contains("the file system of /mnt is full"),
        "{out}{err}"
    );
}

/// execvp(3) runs it by /bin/sh, and so do shells.
#[test]
fn script_without_an_interpreter_is_run_by_the_shell() {
    let folder = tempfile::tempdir().unwrap();
    let (written, script) = (folder.path().join("written"), folder.path().join("script"));
    fs::write(&written, "echo \"$1\"\nexit 7\n").unwrap();
    fs::set_permissions(&written, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    unspin_e2e::copy_program(&written, &script);
    for launcher in [["run", "--waits", "system"], ["meter", "-o", "/dev/null"]] {
        let (out, err, code) = finish(unspin(&launcher).arg(&script).arg("a b"));
        assert_eq!((out.as_str(), code), ("a b\n", Some(7)), "{launcher:?}: {err}");
    }
}
