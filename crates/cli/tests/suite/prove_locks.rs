//! `unspin prove` with kinds of read-write locks and of spin locks, with a program whose figures depend on its plan.

use crate::common::{compiled, finish, unspin};
use std::fs;

/// `prove --metric tps --higher-is-better` of the program `planned`, with a plan of its own for the result: what it prints,
/// its exit code, and the plan.
fn prove(options: &[&str], arguments: &[&str]) -> Option<(String, Option<i32>, String)> {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled("planned.c", folder.path())?;
    let plan = folder.path().join("plan.toml");
    let metric = ["prove", "--metric", "tps", "--higher-is-better", "--plan", plan.to_str().unwrap()];
    let command = [&metric, options, &["--", program.to_str().unwrap()], arguments].concat();
    let mut result = finish(&mut unspin(&command));
    // The waits last for milliseconds. If a busy machine starts the program late, they are not worth a search.
    for _ in 0..4 {
        if !result.0.contains("is not worth a search") {
            break;
        }
        result = finish(&mut unspin(&command));
    }
    let (out, err, code) = result;
    Some((out + &err, code, fs::read_to_string(plan).unwrap_or_default()))
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn kinds_of_read_write_locks_are_compared_with_libcs() {
    let speeds = ["system=100", "rwlock", "rw-biased=200", "rw-fair=50"];
    let options = ["--runs", "8", "--rwlock", "rw-biased,rw-fair@table"];
    let Some((text, code, plan)) = prove(&options, &speeds) else { return };
    assert_eq!(code, Some(0), "{text}");
    assert!(flat(&text).contains("rw-biased's tps is 2.00 times system's"), "{text}");
    assert!(flat(&text).contains("rw-fair@table's tps is 0.500 times system's"), "{text}");
    assert!(plan.contains("[[rwlock]]") && plan.contains("kind = \"rw-biased\""), "{plan}");
}

#[test]
fn kind_of_spin_locks_is_compared_with_libcs() {
    let options = ["--runs", "7", "--spin", "adaptive"];
    let Some((text, code, plan)) = prove(&options, &["system=100", "spin", "spin-adaptive=200"]) else {
        return;
    };
    assert_eq!(code, Some(0), "{text}");
    assert!(flat(&text).contains("spin adaptive's tps is 2.00 times system's"), "{text}");
    assert!(plan.contains("[[spin]]") && plan.contains("kind = \"adaptive\""), "{plan}");
}

#[test]
fn search_tries_kinds_of_the_family_for_which_threads_wait() {
    let speeds = ["system=100", "rwlock", "rw-writer=300"];
    let Some((text, code, plan)) = prove(&["--time-budget", "10m"], &speeds) else { return };
    assert_eq!(code, Some(0), "{text}");
    assert!(flat(&text).contains("for read-write locks, "), "{text}");
    assert!(text.contains("table, static") && text.contains("[read-write lock]"), "{text}");
    assert!(!text.contains(" steal"), "no kind of mutexes is tried: {text}");
    assert!(plan.contains("[[rwlock]]") && plan.contains("kind = \"rw-writer\""), "{plan}");
}

#[test]
fn program_without_a_lock_of_the_family_is_refused() {
    let Some((text, code, _)) = prove(&["--rwlock", "rw-fair"], &["system=100"]) else { return };
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("there is no read-write lock to judge kinds by"), "{text}");
}
