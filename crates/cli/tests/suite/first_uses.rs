//! A mutex that is named after its first use, which is another one in each run, is replaced in every run.

use crate::common::{compiled, finish, unspin};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const NAME: &str = "mutex first used in Queue::pop or Queue::push";

fn program(folder: &Path) -> Option<String> {
    compiled("first_uses.cc", folder).map(|path| path.into_os_string().into_string().unwrap())
}

/// What the program printed: `first`, `queue`, `log`.
fn printed(out: &str) -> BTreeMap<String, String> {
    let line = |line: &str| line.split_once(' ').map(|(name, kind)| (name.to_owned(), kind.to_owned()));
    out.lines().filter_map(line).collect()
}

/// The kinds of the queue's and the log's mutex in 20 runs, of which each order has half.
fn replaced_in_twenty(options: &[&str], program: &str) -> Vec<(String, String)> {
    let runs = (0..20).map(|run| {
        let order = ["push", "pop"][run % 2];
        let (out, err, code) =
            finish(&mut unspin(&[&["run"], options, &["--", program, "100", order]].concat()));
        assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
        let mut printed = printed(&out);
        assert_eq!(printed["first"], order);
        (printed.remove("queue").unwrap(), printed.remove("log").unwrap())
    });
    runs.collect()
}

fn all(queue: &str, log: &str) -> Vec<(String, String)> {
    vec![(queue.to_owned(), log.to_owned()); 20]
}

#[test]
fn name_printed_by_the_meter_replaces_the_mutex_in_every_run() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path()) else { return };
    let table = folder.path().join("table").into_os_string().into_string().unwrap();
    let (.., code) = finish(&mut unspin(&["meter", "--all", "-o", &table, "--", &program, "1000"]));
    assert_eq!(code, Some(0));
    let table = fs::read_to_string(table).unwrap();
    let table: String = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(table.contains(NAME), "{table}");
    let choice = format!("adaptive@{NAME}");
    assert_eq!(replaced_in_twenty(&["--mutex", &choice], &program), all("adaptive", "system"));
}

/// `prove --metric tps` of the program, whose figure is better if the queue's mutex is replaced. Returns the plan that won.
fn plan_that_won(options: &[&str], program: &[&str], folder: &Path) -> String {
    let plan = folder.join("plan.toml").into_os_string().into_string().unwrap();
    let metric = ["prove", "--metric", "tps", "--higher-is-better", "--plan", &plan];
    let (out, err, code) = finish(&mut unspin(&[&metric[..], options, &["--"], program].concat()));
    assert_eq!(code, Some(0), "{out}{err}");
    assert_names_libcs_rows(&out);
    plan
}

/// The lock table says which mutexes a candidate leaves to libc.
fn assert_names_libcs_rows(out: &str) {
    let mut lines = out.lines().skip_while(|line| !line.starts_with("The locks, in one metered run each"));
    let mut lock = "";
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        if line.starts_with("mutex first used in ") {
            lock = line;
        }
        if line.contains("@mutex first used in") {
            assert_eq!(line.starts_with("  libc's, under "), lock.ends_with("Log::write"), "{out}");
        }
    }
    assert!(!lock.is_empty(), "{out}");
}

/// The candidate is named after one of the functions, or after both. The plan has both, from one metered run.
#[test]
fn plan_of_one_recording_replaces_the_mutex_in_every_run() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path()) else { return };
    for name in ["mutex first used in Queue::push", NAME] {
        let choice = format!("adaptive@{name}");
        let plan = plan_that_won(&["--runs", "10", "--mutex", &choice], &[&program, "1000"], folder.path());
        assert_eq!(replaced_in_twenty(&["--use-plan", &plan], &program), all("adaptive", "system"));
    }
}

#[test]
#[ignore = "nightly: the search needs waits that are measured as worth it; `plan_of_one_recording_replaces_the_mutex_in_every_run` is in the first tier"]
fn plan_of_the_search_replaces_the_mutex_in_every_run() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path()) else { return };
    let held = [&program, "20", "any", "1000"];
    let plan = plan_that_won(&["--time-budget", "20s"], &held, folder.path());
    let replaced = replaced_in_twenty(&["--use-plan", &plan], &program);
    assert!(replaced.iter().all(|(queue, _)| queue != "system" && *queue == replaced[0].0), "{replaced:?}");
}

#[test]
fn candidate_for_an_unused_mutex_is_refused_with_the_used_ones() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = compiled("named_unused.c", folder.path()) else { return };
    let path = path.to_str().unwrap();
    let (out, err, code) = finish(&mut unspin(&["prove", "--mutex", "adaptive@unused", "--", path]));
    assert_eq!((out.as_str(), code), ("", Some(4)), "{err}");
    let expected = format!(
        "unspin: {path}: adaptive@unused: a metered run used no mutex of this name; it used: used \
         (1000 uses); `unspin meter` shows all\n"
    );
    assert_eq!(err, expected);
}

/// `prove` of a script that starts `named_unused` with the word `both` if its number of starts so far fulfils the condition.
fn prove_changing(locks: &[&str], condition: &str) -> Option<(String, String, Option<i32>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = compiled("named_unused.c", folder.path())?;
    let plan = folder.path().join("plan.toml");
    let entry =
        |lock: &&str| format!("[[mutex]]\nlock = \"{lock}\"\nkind = \"adaptive\"\nmodule = {path:?}\n");
    fs::write(&plan, locks.iter().map(entry).collect::<String>()).unwrap();
    let script = format!(
        "n=$(cat starts 2>/dev/null || echo 0); echo $((n + 1)) > starts; \
         if [ $(({condition})) = 1 ]; then exec ./named_unused both; else exec ./named_unused; fi"
    );
    let options = ["prove", "--runs", "7", "--use-plan", plan.to_str().unwrap(), "--", "sh", "-c", &script];
    Some(finish(unspin(&options).current_dir(folder.path())))
}

/// A run in which a candidate replaced nothing says nothing about it. Only the metered run uses the mutex.
#[test]
fn candidate_that_replaces_nothing_fails() {
    let Some((out, err, code)) = prove_changing(&["unused"], "n == 0") else { return };
    assert_eq!(code, Some(4), "{out}{err}");
    let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("it replaced no mutex: the one pthread mutex that was used has another name"),
        "{out}"
    );
    // No row has the candidate's name.
    let rows = out.lines().skip_while(|line| !line.starts_with("The locks, in one metered run each"));
    assert!(!rows.take_while(|line| !line.is_empty()).any(|line| line.contains("plan.toml")), "{out}");
}

/// The entries that are in effect must be the same in each run.
#[test]
fn candidate_that_replaces_other_mutexes_in_some_runs_fails() {
    let Some((out, err, code)) = prove_changing(&["used", "unused"], "n / 4 % 2") else { return };
    assert_eq!(code, Some(4), "{out}{err}");
    let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("adaptive@unused replaced "), "{out}");
    assert!(text.contains(" in this run, and ") && text.contains(" in an earlier one"), "{out}");
}
