//! Programs that the preload library cannot reach itself, and that start others.

use crate::common::{compiled, compiled_with, finish, skip, unspin};
use std::path::Path;
use std::process::Command;

const STATIC: &str =
    "is statically linked: there is no dynamic linker to preload anything; link it without -static";

#[test]
fn program_that_a_static_launcher_starts_is_reached() {
    let folder = tempfile::tempdir().unwrap();
    let Some(launcher) = compiled_with("launcher.c", &["-static"], folder.path()) else { return };
    let Some(program) = compiled("static_locks.c", folder.path()) else { return };
    let words = [launcher.to_str().unwrap(), program.to_str().unwrap()];
    let (_, err, code) = finish(&mut unspin(&[&["run", "-v", "--mutex", "adaptive"], &words[..]].concat()));
    assert_eq!(code, Some(7), "{err}");
    assert!(err.starts_with("unspin: replaced: adaptive: ") && !err.contains("nothing"), "{err}");
    let (_, err, code) = finish(&mut unspin(&[&["run", "--sysv", "rcu"], &words[..]].concat()));
    assert_eq!((code, err.as_str()), (Some(7), ""));
    let (_, err, code) = finish(&mut unspin(&[&["meter"], &words[..]].concat()));
    assert!(code == Some(7) && err.contains("cache_lock"), "{err}");
}

#[test]
fn static_program_that_starts_none_runs_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let Some(launcher) = compiled_with("launcher.c", &["-static"], folder.path()) else { return };
    let program = launcher.to_str().unwrap();
    let cases: [(&[&str], String); 3] = [
        (
            &["run", "--sysv", "rcu"],
            format!("nothing that ran could use the engine rcu: {program}: {STATIC}"),
        ),
        (
            &["run", "--mutex", "adaptive"],
            "adaptive replaced nothing: the preload library was loaded into no program that ran".into(),
        ),
        (&["meter"], format!("Nothing was recorded: {program}: {STATIC}")),
    ];
    for (command, why) in cases {
        let (_, err, code) = finish(&mut unspin(&[command, &[program]].concat()));
        assert_eq!(code, Some(0), "{err}");
        // The meter breaks its lines.
        assert!(err.replace('\n', " ").contains(&why), "{why}\n{err}");
    }
    let (_, err, code) = finish(&mut unspin(&["prove", "--mutex", "adaptive", program]));
    assert_eq!((code, err), (Some(126), format!("unspin: {program}: {STATIC}\n")));
}

/// Issue 25: `prove` and `scale` refused the launcher for a reason that is false for what it starts.
#[test]
fn program_that_a_static_launcher_starts_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let Some(launcher) = compiled_with("launcher.c", &["-static"], folder.path()) else { return };
    let launcher = launcher.to_str().unwrap();
    let own = env!("CARGO_BIN_EXE_unspin");
    let command = [launcher, own, "semopbench", "-g", "1", "-s", "1", "-n", "1"];
    let prove = ["prove", "--runs", "6", "--sysv", "rcu"];
    let (out, err, code) = finish(&mut unspin(&[&prove[..], &command].concat()));
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?} {out}{err}");
    assert!(!format!("{out}{err}").contains("statically linked"), "{out}{err}");
    for command in [&["prove", "--sysv", "rcu"][..], &["scale", "--quiet", "--sysv", "rcu", "--cpus", "1"]] {
        let (_, err, code) = finish(&mut unspin(&[command, &[launcher]].concat()));
        assert_eq!((code, err), (Some(126), format!("unspin: {launcher}: {STATIC}\n")), "{command:?}");
    }
}

#[test]
fn program_that_the_dynamic_linker_is_given_is_reached() {
    let linker = "/lib64/ld-linux-x86-64.so.2";
    if !Path::new(linker).exists() {
        skip("program_that_the_dynamic_linker_is_given_is_reached", "the dynamic linker is at another place");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("static_locks.c", folder.path()) else { return };
    let words = [linker, program.to_str().unwrap()];
    let (_, err, code) = finish(&mut unspin(&[&["meter"], &words[..]].concat()));
    assert!(code == Some(7) && err.contains("cache_lock"), "{err}");
    let (_, err, code) = finish(&mut unspin(&[&["run", "-v", "--mutex", "adaptive"], &words[..]].concat()));
    assert!(code == Some(7) && err.starts_with("unspin: replaced: adaptive: "), "{err}");
}

/// Another C library's dynamic linker takes the value as it is; it must not find the library, which needs glibc.
#[test]
fn preloaded_path_is_found_by_glibc_only() {
    let script = r#"case $LD_PRELOAD in */'$LIB'/*) ;; *) exit 1;; esac; test ! -e "$LD_PRELOAD""#;
    let (_, err, code) = finish(&mut unspin(&["run", "--sysv", "rcu", "sh", "-c", script]));
    assert_eq!((code, err.as_str()), (Some(0), ""));
}

#[test]
fn program_of_musl_runs_as_a_child_and_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("musl");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/static_locks.c");
    let compiled = Command::new("musl-gcc").arg("-pthread").arg(source).arg("-o").arg(&program).status();
    if !compiled.is_ok_and(|status| status.success()) {
        skip("program_of_musl_runs_as_a_child_and_by_itself", "there is no musl-gcc; install musl-tools");
        return;
    }
    let program = program.to_str().unwrap();
    for words in [&["sh", "-c", program][..], &[program]] {
        for command in [&["run", "--waits", "poll"][..], &["run", "--sysv", "rcu"], &["meter"]] {
            let (_, err, code) = finish(&mut unspin(&[command, words].concat()));
            assert_eq!(code, Some(7), "{words:?} {command:?}: {err}");
        }
    }
}
