//! `unspin prove` with programs of known figures: scripts whose output depends on their engine.

use crate::common::{Background, finish, finish_with_progress, gone, schema, unspin, wait_until};
use serde_json::Value;
use std::fs;
use unspin_sys::child::{self, Signal};
use unspin_sysv::Kind;

/// `prove --runs N --metric tps --higher-is-better` of a shell script that makes a semaphore call, with more options;
/// with both engines unless the options name engines.
fn prove(runs: &str, options: &[&str], script: &str) -> (String, String, Option<i32>) {
    let metric = ["prove", "--runs", runs, "--metric", "tps", "--higher-is-better"];
    let engines: &[&str] = if options.contains(&"--sysv") { &[] } else { &["--sysv", "global,rcu"] };
    let script = format!("{CALL}; {script}");
    finish(&mut unspin(&[&metric[..], engines, options, &["--", "sh", "-c", &script]].concat()))
}

/// Some System V semaphore calls: an engine without calls cannot be judged.
const CALL: &str = concat!(env!("CARGO_BIN_EXE_unspin"), " semopbench -g 1 -s 1 -n 1 > /dev/null");

/// A text without line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn faster_candidate_is_proven_faster() {
    let script = "case $UNSPIN_SYSV in rcu) echo tps: 200;; *) echo tps: 100;; esac";
    let (out, err, code) = prove("8", &[], script);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(flat(&out).contains("rcu's tps is 2.00 times kernel's (95 % interval 1.99–2.02"), "{out}");
    assert!(flat(&out).contains("difference proven, for the better"), "{out}");
    assert!(flat(&out).contains("The reports' figure: rcu's tps is 2.00 times global's"), "{out}");
    assert_eq!(err, "", "no progress bar where there is no terminal");
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    let text = flat(&out);
    assert!(text.contains("Compared: global and rcu with kernel (the kernel's own System V IPC), by tps, higher is better: 8 rounds "), "{out}");
    let proven = [
        "Proven: rcu is better, its tps is 2.00 times kernel's",
        "; nothing about global. How sure: with 95 % confidence rcu's factor is 1.99 to 2.02, p 0.016, 8 rounds; ",
    ];
    assert!(proven.iter().all(|part| text.contains(part)), "{out}");
    let order = ["\nCompared: ", "\nProven: ", "\nHow sure: ", " mean ± sd", "\nVerdict\n", "\nThe locks, "];
    let places: Vec<usize> = order.iter().map(|part| out.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{out}");
    assert!(!out.contains("Noise floor: ") && !out.contains("Where the "), "{out}");
}

/// The candidate computes, and the control does not: the first line says what the gain costs.
#[test]
fn verdict_states_the_price() {
    let of_rcu = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo cost: 100";
    let script = format!("{CALL}; case $UNSPIN_SYSV in rcu) {of_rcu};; *) echo cost: 200;; esac");
    let metric = ["prove", "--sysv", "rcu", "--runs", "6", "--metric", "cost", "--lower-is-better"];
    let options = [&metric[..], &["--", "sh", "-c", &script]].concat();
    let (out, _, code) = finish(&mut unspin(&options));
    assert_eq!(code, Some(0), "{out}");
    let text = flat(&out);
    let (_, price) =
        text.split_once("Proven: rcu is better, 2.00 times as good as kernel by cost, with ").expect(&out);
    let (times, _) = price.split_once(" times the CPU time. ").expect(&out);
    assert!(times.parse::<f64>().unwrap() > 1.0, "{out}");
}

#[test]
fn verbose_report_contains_noise_and_cpus() {
    let (out, err, code) = prove("7", &["--verbose"], "echo tps: 100");
    assert_eq!(code, Some(3), "{out}{err}");
    let text = flat(&out);
    assert!(
        text.contains(
            "Proven: nothing. The runs do not tell whether global or rcu is better or worse than kernel."
        ),
        "{out}"
    );
    assert!(
        text.contains("Noise floor: kernel measured twice") && text.contains("CPUs went, means of a run"),
        "{out}"
    );
    assert!(text.contains("CPUs eaten by sysv id locks: ") && text.contains("Disturbance: "), "{out}");
}

#[test]
fn slower_candidate_is_proven_slower() {
    let script = "case $UNSPIN_SYSV in rcu) echo tps: 50;; *) echo tps: 100;; esac";
    let (out, err, code) = prove("8", &[], script);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(flat(&out).contains("difference proven, for the worse"), "{out}");
    assert_recommends_nothing(&out);
}

/// Names no engine to be used, and no plan.
fn assert_recommends_nothing(out: &str) {
    let text = flat(out);
    assert!(!text.contains(" is better, ") && !text.contains(" is faster, "), "{out}");
    assert!(!text.contains("unspin run ") && !text.contains("--use-plan"), "{out}");
}

#[test]
fn equal_candidates_prove_nothing() {
    let (out, err, code) = prove("8", &[], "echo tps: 100");
    assert_eq!(code, Some(3), "{out}{err}");
    assert!(flat(&out).contains("no difference proven"), "{out}");
    assert!(!flat(&out).contains(": difference proven"), "{out}");
    assert_recommends_nothing(&out);
}

#[test]
fn rounds_that_prove_nothing_are_refused() {
    for (runs, engines, said) in [
        ("5", "rcu", "5 rounds cannot prove anything: use 6 or more"),
        ("6", "global,rcu", "--runs 6 cannot prove anything about 2 candidates: use --runs 7 or more"),
        ("abc", "rcu", "give a number of rounds, 6 to 100000"),
    ] {
        let (out, err, code) = prove(runs, &["--sysv", engines], "echo tps: 100");
        assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
        assert!(err.contains(said), "{err}");
    }
}

#[test]
fn program_without_preload_does_not_change_the_verdict() {
    let script = "case $UNSPIN_SYSV in '') echo tps: 900;; *) echo tps: 100;; esac";
    let (out, _, code) = prove("8", &[], script);
    assert_eq!(code, Some(3), "{out}");
    assert!(flat(&out).contains("no preload's tps is 9.00 times kernel's"), "{out}");
}

#[test]
fn failing_control_ends_the_session() {
    let (out, _, code) = prove("7", &[], "echo no luck today >&2; exit 7");
    assert_eq!(code, Some(4), "{out}");
    assert!(flat(&out).contains("First failure of kernel: it ended with exit code 7."), "{out}");
    assert!(out.contains("  | no luck today\n"), "{out}");
    assert!(flat(&out).contains("kernel failed in 1 of 1 runs. Nothing can be compared with it"), "{out}");
    let advice =
        "No run succeeded (it ended with exit code 7): make the program run by itself first, without unspin.";
    assert!(flat(&out).contains(advice), "{out}");
}

/// A figure that no ratio can be formed with is a failure like any other: the report says why.
#[test]
fn figure_of_zero_is_the_reason_of_the_failure() {
    let (out, _, code) = prove("6", &["--sysv", "rcu"], "echo tps: 0");
    assert_eq!(code, Some(4), "{out}");
    let said = "First failure of kernel: the metric is 0; a ratio needs a positive finite figure. The end of its output: | tps: 0";
    assert!(flat(&out).contains(said), "{out}");
}

#[test]
fn missing_metric_is_reported_once() {
    let options =
        ["prove", "--runs", "6", "--metric", "nosuch", "--waits", "poll", "--", "sh", "-c", "sleep 0; :"];
    let (out, err, code) = finish(&mut unspin(&options));
    assert_eq!(code, Some(4), "{out}{err}");
    let said = flat(&out).matches("no number for --metric 'nosuch' in its output").count();
    assert_eq!(said, 1, "{out}");
    assert!(
        flat(&out).contains("No run has a figure that can be compared: its first failure says why."),
        "{out}"
    );
}

#[test]
fn figure_with_two_readings_is_refused_with_its_line() {
    let (out, _, code) = prove("6", &["--sysv", "rcu"], "echo tps: 1,234");
    assert_eq!(code, Some(4), "{out}");
    let said = flat(&out);
    assert!(said.contains("no figure for --metric 'tps' that can be read: 1,234 is 1234 or 1.234"), "{out}");
    assert!(said.contains("its line: \"tps: 1,234\""), "{out}");
}

#[test]
fn figures_in_several_units_are_compared_in_one() {
    // 1.5 to 2.5 thousand.
    let script = "case $UNSPIN_SYSV in rcu) echo tps: 2k/s;; *) echo tps: 1000/s;; esac";
    let (out, _, code) = prove("6", &["--sysv", "rcu"], script);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("mean ± sd [/s]") && flat(&out).contains("its tps is 2.0 times kernel's"), "{out}");
    assert!(flat(&out).contains("differences below 0.1 % are within the steps of the figures"), "{out}");
}

#[test]
fn crashing_candidate_is_reported() {
    let script = "case $UNSPIN_SYSV in global) kill -11 $$;; rcu) echo tps: 200;; *) echo tps: 100;; esac";
    let (out, _, code) = prove("8", &[], script);
    assert_eq!(code, Some(0), "{out}");
    assert!(
        out.contains("global failed in 3 of 3 runs (first: signal 11 killed it); it is not ranked"),
        "{out}"
    );
}

#[test]
fn candidate_without_figure_counts_as_failed() {
    let script = "case $UNSPIN_SYSV in rcu) echo nothing;; *) echo tps: 100;; esac";
    let (out, _, code) = prove("6", &["--sysv", "rcu"], script);
    assert_eq!(code, Some(4), "{out}");
    assert!(flat(&out).contains("no number for --metric 'tps' in its output"), "{out}");
    assert!(out.contains("Proven: nothing, because rcu failed.\n") && !out.contains("How sure"), "{out}");
    assert!(out.contains("  | nothing\n"), "{out}");
}

#[test]
fn hanging_candidate_is_ended() {
    // The first sleep is pause(2). The other one ends.
    for (time, is_hang) in [("infinity", true), ("1000", false)] {
        let script = format!("[ \"$UNSPIN_SYSV\" = rcu ] && sleep {time}; echo tps: 100");
        let (out, _, code) = prove("6", &["--sysv", "rcu", "--time-limit", "1s"], &script);
        assert_eq!(code, Some(4), "{out}");
        let text = flat(&out);
        assert!(text.contains("it was still running after 1.0 s"), "{out}");
        assert_eq!(text.contains("it was still running after 1.0 s, and hangs"), is_hang, "{out}");
    }
}

/// Issue 25: a program that no longer runs was said to have collapsed.
#[test]
fn candidate_that_hangs_is_stopped_early() {
    let script = "[ \"$UNSPIN_SYSV\" = rcu ] && sleep infinity; echo tps: 100";
    let (out, _, code) = prove("6", &["--sysv", "rcu"], script);
    assert_eq!(code, Some(1), "{out}");
    let text = flat(&out);
    assert!(text.contains("rcu hangs: 2 of its 2 runs were stopped after "), "{out}");
    assert!(text.contains("Proven: rcu hangs, and was stopped after"), "{out}");
    assert!(!text.contains("collapsed"), "{out}");
}

#[test]
fn engine_without_calls_is_not_ranked() {
    let metric = ["prove", "--runs", "7", "--metric", "tps", "--higher-is-better", "--sysv", "global,rcu"];
    let script = "case $UNSPIN_SYSV in rcu) echo tps: 900;; *) echo tps: 100;; esac";
    let (out, _, code) = finish(&mut unspin(&[&metric[..], &["--", "sh", "-c", script]].concat()));
    assert_eq!(code, Some(4), "{out}");
    assert!(flat(&out).contains("rcu failed in 3 of 3 runs (first: no System V call reached"), "{out}");
}

#[test]
fn failed_metered_run_loses_only_its_table() {
    let script = "[ -n \"$UNSPIN_RECORD\" ] && exit 9; echo tps: 100";
    let (out, _, code) = prove("6", &["--sysv", "rcu"], script);
    assert_eq!(code, Some(3), "{out}");
    assert!(out.contains("No lock table of rcu: when metered, it ended with exit code 9.\n"), "{out}");
    assert!(out.contains("Verdict\n"), "{out}");
}

#[test]
fn leftover_processes_are_ended_before_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("pids");
    // In its own session, so that signals to the process group do not reach it.
    let script = format!("setsid sleep 1000 & echo $! >> {}; echo tps: 100", list.display());
    let (out, _, code) = prove("6", &["--sysv", "rcu"], &script);
    assert_eq!(code, Some(3), "{out}");
    assert!(flat(&out).contains("processes behind, which were ended"), "{out}");
    let pids = fs::read_to_string(&list).unwrap();
    // Warm-up and six rounds of four candidates, and one metered run.
    assert_eq!(pids.lines().count(), 7 * 4 + 1);
    assert!(pids.lines().all(|pid| gone(pid.parse().unwrap())), "{pids}");
}

#[test]
fn ended_workload_leaves_no_sets() {
    let workload = ["semopbench", "-g", "1", "-s", "2", "-n", "1000000000", "-d"];
    let (out, _, code) = finish(&mut unspin(&[&["prove", "--time-limit", "5s"][..], &workload].concat()));
    assert_eq!(code, Some(4), "{out}");
    assert!(out.contains("First failure of kernel: it was still running after 5.0 s."), "{out}");
    assert!(!crate::common::sets_exist(&crate::common::sets_of(&out)), "{out}");
    assert!(!out.contains("processes behind"), "they end by themselves: {out}");
}

#[test]
fn interrupt_ends_the_session_and_reports_results() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000", pid_file.display());
    let json = folder.path().join("result.json");
    let mut run =
        Background::start(unspin(&["prove", "--json", json.to_str().unwrap(), "--", "sh", "-c", &script]));
    wait_until("the program runs", || pid_file.exists());
    let pid: u32 = fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    assert!(!json.exists(), "nothing that could be taken for a result is there before the end");
    child::signal(run.pid(), Signal::Terminate).unwrap();
    assert_eq!(run.wait().code(), Some(130));
    assert!(gone(pid));
    let result: Value = schema::read("prove", json);
    assert_eq!(result["interrupted"], true);
}

/// SIGHUP, by its number.
const HANG_UP: Signal = Signal::PassedOn(1);

/// The same key, pressed twice or held down: here SIGTERM, because a shell starts a test in the background with SIGINT
/// ignored. The program ignores SIGTERM, so the second signal comes while unspin waits
/// for its end.
#[test]
fn second_interrupt_does_not_truncate_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let (pid_file, json) = (folder.path().join("pid"), folder.path().join("result.json"));
    let script = format!("trap '' TERM; echo $$ > {0}.new; mv {0}.new {0}; sleep 1000", pid_file.display());
    let mut run =
        Background::start(unspin(&["prove", "--json", json.to_str().unwrap(), "--", "sh", "-c", &script]));
    wait_until("the program runs", || pid_file.exists());
    let pid: u32 = fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    for pause_ms in [0, 20, 20] {
        std::thread::sleep(std::time::Duration::from_millis(pause_ms));
        child::signal(run.pid(), Signal::Terminate).unwrap();
    }
    assert_eq!(run.wait().code(), Some(130));
    assert!(gone(pid));
    let result: Value = schema::read("prove", json);
    assert_eq!(result["interrupted"], true);
}

/// As under nohup(1): the program inherits that the signal is ignored, and the measurement goes on.
#[test]
fn signal_that_is_ignored_at_the_start_stays_ignored() {
    let unspin = unspin(&["prove", "--time-budget", "1s", "--", "sh", "-c", "sleep 0.3; kill -HUP $$"]);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(unspin.get_program()).args(unspin.get_args());
    command.envs(unspin.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut run = Background::start(command);
    run.wait_for_line("one metered run");
    child::signal(run.pid(), HANG_UP).unwrap();
    assert_eq!(run.wait().code(), Some(3), "{}", run.rest());
}

/// A line for each phase, on standard error. Scripts that want none say so.
#[test]
fn each_phase_has_a_line_of_progress() {
    let script = format!("{CALL}; sleep 0.1");
    let command = ["prove", "--runs", "6", "--sysv", "rcu", "--", "sh", "-c", &script];
    let (out, err, code) = finish_with_progress(&mut unspin(&command));
    assert!(matches!(code, Some(0 | 1 | 3)), "{out}{err}");
    let lines: Vec<&str> = err.lines().collect();
    assert!(
        lines[0].starts_with("unspin prove: ")
            && lines[0].ends_with(": at least 6 rounds of 4 configurations, to judge rcu"),
        "{err}"
    );
    // A slow machine has lines about the rounds between them.
    let last = lines.last().unwrap();
    assert!(last.contains(" s of about ") && last.ends_with(": one metered run of rcu"), "{err}");
    let quiet = [&["prove", "--quiet"], &command[1..]].concat();
    let (_, err, _) = finish_with_progress(&mut unspin(&quiet));
    assert_eq!(err, "");
}

/// Issue 14: a budget of a second took half a minute.
#[test]
fn budget_too_short_for_a_proof_is_said_at_once_and_kept() {
    let script = format!("{CALL}; sleep 0.5");
    let command = ["prove", "--time-budget", "2s", "--sysv", "rcu", "--", "sh", "-c", &script];
    let (out, err, code) = finish_with_progress(&mut unspin(&command));
    assert_eq!(code, Some(3), "{out}{err}");
    let said = "unspin prove: a proof needs about ";
    assert!(err.lines().nth(1).is_some_and(|line| line.starts_with(said)), "after the first run: {err}");
    assert!(err.contains("and the time budget is 2 s: use --time-budget "), "{err}");
    let text = flat(&out);
    assert!(text.contains("Proven: nothing, because ") && text.contains("A proof needs about "), "{out}");
    assert!(!text.contains(" 6 rounds of 4"), "{out}");
}

/// The run took until --time-limit, 10 minutes by default.
#[test]
fn candidate_that_hangs_only_with_the_meter_is_stopped_early() {
    let script = format!("{CALL}; test -z \"$UNSPIN_RECORD\" || sleep 1000");
    let command =
        ["prove", "--runs", "6", "--time-limit", "100s", "--sysv", "rcu", "--", "sh", "-c", &script];
    let (out, err, code) = finish(&mut unspin(&command));
    assert!(matches!(code, Some(0 | 1 | 3)), "{out}{err}");
    let text = flat(&out);
    assert!(text.contains("No lock table of rcu: when metered, it was still running after "), "{out}");
    assert!(!text.contains("after 100.0 s"), "{out}");
}

/// The candidate takes twenty times as long as the control: six rounds of it would take over a minute.
#[test]
#[ignore = "nightly: compares runs with the time budget; crates/stats/tests/suite/session.rs has such sessions with made-up times"]
fn slow_candidate_is_given_up_within_the_budget() {
    let script = "[ \"$UNSPIN_SYSV\" = rcu ] && sleep 10; sleep 0.5";
    let script = format!("{CALL}; {script}");
    let command = ["prove", "--time-budget", "20s", "--sysv", "rcu", "--", "sh", "-c", &script];
    let (out, err, code) = finish(&mut unspin(&command));
    let text = flat(&out);
    let said = match code {
        Some(1) => "rcu is proven slower and was given up early: each of its 3 runs took more than ",
        // On a busy machine the control may become slower after the runs were stopped.
        _ => "rcu was given up: ",
    };
    assert!(matches!(code, Some(1 | 3)) && text.contains(said), "{out}{err}");
    assert!(text.contains("; it is not r"), "{out}");
}

#[test]
fn killed_prove_leaves_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000", pid_file.display());
    let mut run = Background::start(unspin(&["prove", "--", "sh", "-c", &script]));
    wait_until("the program runs", || pid_file.exists());
    let pid: u32 = fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    child::signal(run.pid(), Signal::Kill).unwrap();
    run.wait();
    wait_until("the program is gone", || gone(pid));
}

#[test]
fn json_contains_all_results() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let script = "case $UNSPIN_SYSV in rcu) echo tps: 200;; *) echo tps: 100;; esac";
    let (out, err, code) = prove("8", &["--json", file.to_str().unwrap()], script);
    assert_eq!(code, Some(0), "{out}{err}");
    let result: Value = schema::read("prove", file);
    assert_eq!(result["schema"], "unspin.prove/3");
    assert_eq!(result["conclusion"], "faster");
    assert_eq!(result["command"][0], "sh");
    assert_eq!(result["rounds"], 8);
    assert_eq!(result["analysis"]["metric"]["name"], "tps");
    let names: Vec<&str> =
        result["candidates"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    let engines = Kind::IN_ARENAS.map(Kind::name);
    assert_eq!(names, [&["kernel", "kernel (again)", "no preload"][..], &engines].concat());
    let runs = result["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 9 * names.len(), "warm-up and eight rounds of each candidate");
    assert!(runs.iter().all(|run| run["elapsed_s"].as_f64().unwrap() > 0.0 && run["end"] == "exited"));
    assert!(runs.iter().all(|run| run["value"].as_f64().unwrap() >= 100.0 && run["failure"].is_null()));
    assert!(result["machine"]["cpus"].as_u64().unwrap() >= 1);
    assert!(!result["unspin"]["commit"].as_str().unwrap().is_empty());
}

#[test]
fn wall_time_and_cpu_time_are_accepted_as_metric() {
    for metric in ["wall-time", "cpu-time"] {
        let busy = format!("{CALL}; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
        let (out, err, code) = finish(&mut unspin(&[
            "prove", "--runs", "6", "--metric", metric, "--sysv", "rcu", "--", "sh", "-c", &busy,
        ]));
        // Six rounds may find a small difference.
        assert!(matches!(code, Some(0 | 1 | 3)), "{code:?} {out}{err}");
        let name = if metric == "wall-time" { "wall time" } else { "CPU time" };
        assert!(flat(&out).contains(&format!("{name}, lower is better: 6 rounds")), "{out}");
    }
}

#[test]
fn workload_has_its_own_figure() {
    let command = ["prove", "--runs", "6", "--sysv", "rcu", "semopbench", "-g", "2", "-s", "2", "-n", "20"];
    let (out, err, code) = finish(&mut unspin(&command));
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?} {out}{err}");
    assert!(flat(&out).contains("seconds per repetition, lower is better: 6 rounds"), "{out}");
    assert!(flat(&out).contains("sysv id locks "), "{out}");
    assert!(!flat(&out).contains("no System V call"), "{out}");
}
