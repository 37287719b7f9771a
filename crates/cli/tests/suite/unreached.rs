//! Programs that ran and that the preload library did not reach: reports name them, and claim nothing about them.

use crate::common::{compiled, compiled_with, finish, skip, unspin};

const METER: &[&str] = &["meter"];
const MUTEX: &[&str] = &["run", "--mutex", "adaptive"];
const WAITS: &[&str] = &["run", "--waits", "poll"];

/// What is wrong if a program was not reached.
const FALSE_CLAIMS: [&str; 4] = [
    "nothing that ran called",
    "no program that ran called",
    "nothing that ran used",
    "no private pthread mutex was used (",
];

/// Whether the kernel tells which programs ran; notes that the test is skipped if not.
fn programs_are_counted(test: &str) -> bool {
    let (_, err, _) = finish(&mut unspin(&["run", "-v", "--mutex", "adaptive", "sh", "-c", "true"]));
    let is_counted = !err.contains("which programs the preload library did not reach is not known");
    if !is_counted {
        skip(test, "perf_event_open is not permitted: `sysctl kernel.perf_event_paranoid=2`");
    }
    is_counted
}

/// What a command says, as one line, about a program with these words.
fn said(command: &[&str], words: &[&str], expected: i32) -> String {
    let (_, err, code) = finish(unspin(&[command, words].concat()).env("COLUMNS", "300"));
    assert_eq!(code, Some(expected), "{err}");
    err.replace('\n', " ")
}

#[test]
fn program_without_ld_preload_is_named() {
    if !programs_are_counted("program_without_ld_preload_is_named") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("static_locks.c", folder.path()) else { return };
    let program = program.to_str().unwrap();
    let script = format!("unset LD_PRELOAD; exec {program}");
    for words in [&["env", "-i", program][..], &["sh", "-c", &script]] {
        for command in [METER, MUTEX, WAITS] {
            let said = said(command, words, 7);
            let expected = format!(
                "Processes ran that the preload library did not reach: it was loaded into 1 of 2 executed programs, and not \
                 into {program} (it was started without LD_PRELOAD"
            );
            assert!(said.contains(&expected), "{command:?}: {said}");
            assert!(!FALSE_CLAIMS.iter().any(|claim| said.contains(claim)), "{command:?}: {said}");
        }
    }
}

/// A service forks and becomes another program while the program ends: what is not known by then is not claimed.
#[test]
fn process_that_runs_on_is_named_or_said_to_be_unknown() {
    if !programs_are_counted("process_that_runs_on_is_named_or_said_to_be_unknown") {
        return;
    }
    let script = "(env -i sleep 1 >/dev/null 2>&1 </dev/null &)";
    for command in [METER, &["run", "-v", "--mutex", "adaptive"]] {
        for _ in 0..3 {
            let said = said(command, &["sh", "-c", script], 0);
            let is_told = ["Processes ran that the preload library did not reach", "ran on", "till running"];
            assert!(is_told.iter().any(|told| said.contains(told)), "{command:?}: {said}");
            assert!(!FALSE_CLAIMS.iter().any(|claim| said.contains(claim)), "{command:?}: {said}");
        }
    }
}

#[test]
fn unreached_program_is_named_beside_the_locks_of_others() {
    if !programs_are_counted("unreached_program_is_named_beside_the_locks_of_others") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("static_locks.c", folder.path()) else { return };
    let Some(other) = compiled_with("launcher.c", &["-static"], folder.path()) else { return };
    let (program, other) = (program.to_str().unwrap(), other.to_str().unwrap());
    let script = format!("{other}; {program}; exit 7");
    let metered = said(METER, &["sh", "-c", &script], 7);
    assert!(metered.contains("cache_lock"), "{metered}");
    assert!(metered.contains("into 2 of 3 executed programs, and not into "), "{metered}");
    assert!(metered.contains(&format!("{other} (it is statically linked")), "{metered}");
    let quiet = said(MUTEX, &["sh", "-c", &script], 7);
    assert!(!quiet.contains("did not reach"), "something was replaced: {quiet}");
    let verbose = said(&["run", "-v", "--mutex", "adaptive"], &["sh", "-c", &script], 7);
    assert!(
        verbose.contains("replaced: adaptive") && verbose.contains("into 2 of 3 executed programs"),
        "{verbose}"
    );
    let all = said(METER, &["sh", "-c", &format!("{program}; exit 7")], 7);
    assert!(!all.contains("did not reach"), "{all}");
}

#[test]
fn program_that_was_not_reached_is_not_said_to_lose_nothing() {
    if !programs_are_counted("program_that_was_not_reached_is_not_said_to_lose_nothing") {
        return;
    }
    let words = ["env", "-i", "/bin/sh", "-c", "exit 0"];
    let (out, err, code) = finish(&mut unspin(&[&["prove", "--time-budget", "8s"][..], &words].concat()));
    let err = err.replace('\n', " ");
    assert_eq!(code, Some(126), "{out}{err}");
    assert!(err.contains("hand on LD_PRELOAD") && !out.contains("costs enough time"), "{out}{err}");
}

/// The observation ends between the execve(2) of the last program and the start of its dynamic linker.
#[test]
fn program_that_has_just_been_executed_is_not_said_to_be_unreached() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("static_locks.c", folder.path()) else { return };
    // Reports of locks name the programs that were not reached.
    let script = format!("{}; sleep 0.05 & exit 7", program.display());
    for _ in 0..8 {
        let said = said(METER, &["sh", "-c", &script], 7);
        assert!(said.contains("cache_lock"), "{said}");
        assert!(!said.contains("started without LD_PRELOAD"), "{said}");
    }
}

#[test]
fn remedy_for_address_sanitizer_is_named() {
    if !programs_are_counted("remedy_for_address_sanitizer_is_named") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled_with("static_locks.c", &["-fsanitize=address"], folder.path()) else {
        return;
    };
    let program = program.to_str().unwrap();
    for command in [METER, MUTEX] {
        let (_, err, _) = finish(unspin(&[command, &[program]].concat()).env_remove("ASAN_OPTIONS"));
        if !err.contains("ASan runtime does not come first") {
            skip("remedy_for_address_sanitizer_is_named", "this compiler links the runtime into the program");
            return;
        }
        assert!(err.replace('\n', " ").contains("set ASAN_OPTIONS=verify_asan_link_order=0"), "{err}");
    }
}

#[test]
fn program_with_a_seccomp_filter_is_not_said_to_lock_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("filtered.c", folder.path()) else { return };
    let program = program.to_str().unwrap();
    let metered = said(METER, &[program], 7);
    assert!(metered.starts_with("No lock was recorded: the program installed a seccomp filter"), "{metered}");
    let polling = said(WAITS, &[program], 7);
    assert!(polling.contains("poll replaced nothing: a seccomp filter was in force"), "{polling}");
    let replaced = said(&["run", "-v", "--mutex", "adaptive"], &[program], 7);
    assert!(replaced.contains("replaced: adaptive: 1 mutex"), "{replaced}");
}

#[test]
fn program_that_takes_an_old_lock_function_is_served_by_libc() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("takes_functions.c", folder.path()) else { return };
    let program = program.to_str().unwrap();
    let run = |options: &[&str], names: &[&str]| {
        said(&[&["run", "-v"], options].concat(), &[&[program], names].concat(), 7)
    };
    for options in [["--mutex", "fair"], ["--waits", "poll"]] {
        let said = run(&options, &["malloc", "pthread_cond_signal@GLIBC_2.2.5"]);
        assert!(said.contains("has looked up a lock function in libc itself (dlsym)"), "{said}");
    }
    let others =
        ["malloc", "pthread_self", "pthread_mutexattr_init", "pthread_mutex_getprioceiling", "sem_post"];
    let hooked = ["pthread_cond_signal", "pthread_cond_wait@GLIBC_2.3.2", "pthread_mutex_lock", "mtx_lock"];
    for names in [&others[..], &hooked[..]] {
        let said = run(&["--mutex", "fair"], names);
        assert!(said.contains("replaced: fair: 1 mutex") && !said.contains("dlsym"), "{said}");
    }
}

#[test]
fn process_that_still_runs_is_named_where_nothing_was_replaced() {
    if !programs_are_counted("process_that_still_runs_is_named_where_nothing_was_replaced") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("here");
    std::fs::write(&here, "").unwrap();
    // It runs until the test has ended.
    let script =
        format!("(while [ -e {} ]; do sleep 0.05; done) >/dev/null 2>&1 </dev/null & exit 7", here.display());
    let said = said(MUTEX, &["sh", "-c", &script], 7);
    assert!(said.contains("still running, not counted further: "), "{said}");
}

#[test]
fn call_sites_are_counted_once_for_all_threads() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("many_pollers.c", folder.path()) else { return };
    let said = said(&["run", "-v", "--waits", "poll"], &[program.to_str().unwrap()], 7);
    assert!(said.contains("poll: 2 call sites (counted in each process)"), "{said}");
}
