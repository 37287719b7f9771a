//! `--runqueue`: the run queue of programs that are built on unspin-runqueue, chosen, metered and judged.

use crate::common::{finish, program, schema, unspin};
use serde_json::Value;

/// A small load: 2 rooms of 3 users, 5 messages from each, on 3 workers.
const SMALL: [&str; 10] =
    ["volano", "--rooms", "2", "--users", "3", "--messages", "5", "--runs", "1", "--workers=3"];

/// A text without line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The one line of an error.
fn refused(arguments: &[&str], code: i32) -> String {
    let (out, err, ended) = finish(&mut unspin(arguments));
    assert_eq!((ended, out.as_str()), (Some(code), ""), "{arguments:?}: {err}");
    let line = err.lines().next().unwrap_or_default().to_owned();
    assert!(line.starts_with("unspin: "), "{err}");
    line
}

/// Whatever the verdict is, both tables are beneath it.
#[test]
fn prove_prints_the_verdict_and_both_tables() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("json");
    // The list stands behind the workload, as in the issue.
    let mut command = unspin(&["prove", "--runs", "6", "--json", json.to_str().unwrap()]);
    let (out, err, code) = finish(command.args(SMALL).args(["--runqueue", "global,percpu"]));
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?}: {out}{err}");
    let text = flat(&out);
    assert!(
        text.contains("Compared: percpu with global (one run queue for all workers), by messages per second")
    );
    let verdict = out.find("\nVerdict\n").expect("there is a verdict");
    let (_, tables) = out.split_at(verdict);
    let header = "\nSPINLOCKS         HOLD            WAIT\n";
    for name in ["global", "percpu"] {
        let (_, table) = tables.split_once(&format!("\n{name}{header}")).expect("each run queue has a table");
        let table = table.split("\n\n").collect::<Vec<_>>()[..4].join("\n") + "\n";
        for row in ["*TOTAL*", "  runqueue_lock\n", "    push\n", "    pop\n", "    wake\n", " of the "] {
            assert!(table.contains(row), "{name}: no {row:?}: {table}");
        }
    }
    let (_, comparison) = text.split_once(" runqueue_lock: utilized ").expect("they are compared");
    assert!(comparison.contains(" CPUs with global; utilized ") && comparison.contains(" CPUs with percpu"));
    assert!(comparison.contains(" Next: "), "{out}");
    let document: Value = schema::read("prove", &json);
    let names = |field: &str, key: &str| -> Vec<Value> {
        document[field].as_array().unwrap().iter().map(|one| one[key].clone()).collect()
    };
    assert_eq!(names("candidates", "run_queue"), ["global", "global", "global", "percpu"].map(Value::from));
    assert_eq!(names("run_queues", "candidate"), ["global", "percpu"].map(Value::from));
    assert!(document["run_queues"][0]["of_control"].is_null());
    assert!(document["run_queues"][1]["of_control"].as_f64().is_some_and(|share| share > 0.0));
}

#[test]
fn one_run_queue_is_compared_with_the_programs_own() {
    let mut command = unspin(&["prove", "--runs", "6", "--runqueue", "global"]);
    let (out, err, code) = finish(command.args(SMALL));
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?}: {out}{err}");
    assert!(
        flat(&out).contains("Compared: global with default (the run queue that the program chooses)"),
        "{out}"
    );
    let own = refused(&[&["prove", "--quiet", "--runqueue", "percpu"][..], &SMALL].concat(), 4);
    assert!(
        own.ends_with("the program uses the run queue percpu by itself: give --runqueue global,percpu"),
        "{own}"
    );
}

/// A planted candidate that replaces nothing: the program removes the variable before its executor starts.
#[test]
fn candidate_that_no_executor_uses_fails() {
    let script = format!(
        "[ \"$UNSPIN_RUNQUEUE\" = percpu ] && unset UNSPIN_RUNQUEUE; exec {} {} --model tasks --runqueue global",
        program().display(),
        SMALL.join(" ")
    );
    let mut command =
        unspin(&["prove", "--runs", "6", "--runqueue", "global,percpu", "--", "sh", "-c", &script]);
    let (out, err, code) = finish(&mut command);
    assert_eq!(code, Some(4), "{out}{err}");
    let why = "First failure of percpu: no executor of unspin-runqueue used the run queue percpu: ";
    assert!(flat(&out).contains(why), "{out}");
}

#[test]
fn program_without_a_run_queue_is_refused() {
    let line = refused(&["prove", "--quiet", "--runqueue", "global,percpu", "sh", "-c", "true"], 4);
    assert!(line.contains("sh: a metered run under global used no run queue of unspin: "), "{line}");
    assert!(line.contains("unspin-runqueue, such as `volano --model tasks`"), "{line}");
}

#[test]
fn contradictions_are_refused_in_one_line() {
    let lists = ["prove", "--runqueue", "global,percpu"];
    let of = |rest: &[&str]| refused(&[&lists[..], rest].concat(), 2);
    assert!(of(&["volano", "--model", "threads"]).ends_with("has no run queue of unspin: use --model tasks"));
    assert!(
        of(&["volano", "--model", "tasks", "--runqueue", "global"]).contains("leave out `--runqueue global`")
    );
    assert!(of(&["hackbench", "1"]).contains("hackbench has no run queue of unspin: "));
    assert!(of(&["--mutex", "adaptive", "volano"]).contains("cannot be used with"));
    assert!(of(&["volano", "--runqueue", "global,percpu"]).contains("--runqueue names a run queue twice: "));
    assert!(refused(&["prove", "--runqueue", "global,global", "volano"], 2).contains(" twice: "));
    for unknown in
        [&["prove", "--runqueue", "fair", "volano"][..], &["prove", "volano", "--runqueue", "fair,global"]]
    {
        assert!(refused(unknown, 2).starts_with("unspin: invalid value 'fair' for '--runqueue <KINDS>'"));
    }
    assert!(refused(&["run", "--runqueue", "fair", "volano"], 2).contains("invalid value 'fair'"));
}

#[test]
fn run_chooses_the_run_queue_and_counts_executors() {
    let (out, err, code) = finish(unspin(&["run", "-v", "--runqueue", "global"]).args(SMALL));
    assert_eq!((err.as_str(), code), ("unspin: run queue global: 2 executors\n", Some(0)), "{out}");
    assert!(out.contains(" tasks on run queue global with 3 workers"), "{out}");
    let (_, err, code) = finish(&mut unspin(&["run", "--runqueue", "percpu", "sh", "-c", "exit 3"]));
    assert_eq!(code, Some(3));
    assert!(err.starts_with("unspin: --runqueue percpu replaced nothing: "), "{err}");
}

#[test]
fn environment_chooses_the_run_queue_of_volano() {
    let tasks = ["--model", "tasks", "--runqueue", "global"];
    let under = |value| finish(unspin(&SMALL).args(tasks).env("UNSPIN_RUNQUEUE", value));
    let (out, _, code) = under("percpu");
    assert!(code == Some(0) && out.contains(" tasks on run queue percpu with "), "{out}");
    let unknown = "unspin: volano: UNSPIN_RUNQUEUE=fair: there are the run queues global and percpu\n";
    assert_eq!(under("fair"), (String::new(), unknown.into(), Some(2)));
}

#[test]
fn meter_has_a_row_for_the_locks_of_the_run_queues() {
    for (run_queue, queues) in [("global", 2), ("percpu", 6)] {
        let (_, err, code) = finish(unspin(&["meter", "--all", "--runqueue", run_queue]).args(SMALL));
        assert_eq!(code, Some(0), "{err}");
        // A queue that was never used has no lock in the table.
        let is_row = |line: &&str| (2..=queues).any(|n| line.ends_with(&format!("({n}) runqueue_lock")));
        assert!(err.lines().any(|line| is_row(&line)), "{err}");
        let callers = ["push", "pop", "wake"];
        assert!(
            callers.iter().all(|name| err.lines().any(|line| line.ends_with(&format!("  {name}")))),
            "{err}"
        );
    }
}
