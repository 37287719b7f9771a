//! `unspin run`: the program's exit code, its environment, its arguments.

mod common;

use common::{finish, unspin};
use std::os::unix::process::ExitStatusExt;

#[test]
fn the_exit_code_is_the_programs() {
    for code in [0, 1, 42] {
        let (.., status) =
            finish(&mut unspin(&["run", "--sysv", "kernel", "sh", "-c", &format!("exit {code}")]));
        assert_eq!(status, Some(code));
    }
}

#[test]
fn a_signal_is_the_programs() {
    let status = unspin(&["run", "--sysv", "kernel", "sh", "-c", "kill -15 $$"]).status().unwrap();
    assert_eq!(status.signal(), Some(15));
}

#[test]
fn the_program_finds_its_engine() {
    let script = r#"echo "$UNSPIN_SYSV $UNSPIN_ARENA ${UNSPIN_RECORD-none} $0 $*"; echo "$LD_PRELOAD""#;
    let folder = tempfile::tempdir().unwrap();
    let mut command =
        unspin(&["run", "--sysv", "rcu", "--arena", "my-arena", "sh", "-c", script, "me", "-x"]);
    command.env("LD_PRELOAD", "/nowhere/other.so").current_dir(folder.path());
    let (out, err, code) = finish(&mut command);
    assert_eq!(code, Some(0), "{err}");
    let arena = folder.path().join("my-arena");
    let (first, second) = out.trim_end().split_once('\n').unwrap();
    assert_eq!(first, format!("rcu {} none me -x", arena.display()));
    let (ours, others) = second.split_once(':').unwrap();
    assert!(ours.contains("/unspin/libunspin_preload-") && ours.ends_with(".so"), "{ours}");
    assert_eq!(others, "/nowhere/other.so");
}

#[test]
fn the_library_is_mapped_into_the_program() {
    let (out, ..) = finish(&mut unspin(&["run", "--sysv", "kernel", "cat", "/proc/self/maps"]));
    assert!(out.contains("libunspin_preload-"), "{out}");
}

#[test]
fn a_workload_is_a_program_too() {
    let mut command = unspin(&["run", "--sysv", "kernel", "semopbench", "-g", "1", "-s", "2", "-n", "3"]);
    let (out, err, code) = finish(&mut command);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("6 hand-offs"), "{out}");
}

#[test]
fn every_engine_runs_the_workload_in_an_arena_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    for engine in ["global", "rcu"] {
        let arena = folder.path().join(engine);
        let arena = arena.to_str().unwrap();
        let workload = ["semopbench", "-g", "2", "-s", "4", "-n", "50", "-d"];
        let (out, err, code) =
            finish(&mut unspin(&[&["run", "--sysv", engine, "--arena", arena][..], &workload].concat()));
        assert_eq!(code, Some(0), "{err}");
        assert!(out.contains("400 hand-offs"), "{out}");
        assert!(!common::sets_exist(&common::sets_of(&err)), "the kernel's sets have not been touched");
    }
}
