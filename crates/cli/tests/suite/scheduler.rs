//! `--scheduler` of `unspin prove` and `unspin run`. A folder stands in for the kernel's sched_ext, and a script for a scheduler.

use crate::common::{Background, finish, gone, schema, skip, unspin, wait_until};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// A scheduler: `sched NAME [MODE]`. It is enabled, and goes back at a signal.
const SCHEDULER: &str = r#"#!/bin/sh
k=$UNSPIN_TEST_SCHED_EXT
echo $$ >> "$k/pids"
echo "$1 says hello"
disable() { echo disabled > "$k/state"; }
enable() {
    echo "$1" > "$k/root/ops"
    echo enabled > "$k/state"
    # As in the kernel: the number is raised after the state has changed.
    sleep 0.05
    # A reader finds one number or the other, and never an empty file.
    echo $(($(cat "$k/enable_seq") + 1)) > "$k/seq.$$" && mv "$k/seq.$$" "$k/enable_seq"
}
# The signal may come as soon as the kernel tells that it is enabled.
trap 'disable; exit 0' INT TERM
case ${2:-} in
    dies) echo "libbpf: the verifier refuses it" >&2; exit 3 ;;
    idle) ;;
    *) enable "$1" ;;
esac
while [ ! -e "$k/go" ]; do sleep 0.01; done
# The program has asked for something.
rm "$k/go"
case ${2:-} in
    ends) disable; echo "a task was stalled" >&2; touch "$k/done"; exit 7 ;;
    evicted) disable ;;
    replaced) enable another ;;
    reloaded) disable; enable "$1" ;;
esac
touch "$k/done"
while :; do sleep 0.01; done
"#;

/// A program that lets the scheduler do what its mode says, and waits until it has.
const PROGRAM: &str = r#"k=$UNSPIN_TEST_SCHED_EXT; touch "$k/go"
while [ ! -e "$k/done" ]; do sleep 0.01; done; rm "$k/done"; exit 5"#;

/// The kernel's folder, and the scheduler.
struct FakeSchedExt {
    folder: TempDir,
}

impl FakeSchedExt {
    fn new() -> FakeSchedExt {
        let fake = FakeSchedExt { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(fake.file("root")).unwrap();
        for (name, text) in
            [("state", "disabled\n"), ("enable_seq", "0\n"), ("switch_all", "1\n"), ("pids", "")]
        {
            fake.write(name, text);
        }
        // Written by another process, which no other test's child can hold open.
        let script = fake.file("sched");
        let mut copy = Command::new("sh");
        copy.args(["-c", "printf %s \"$2\" > \"$1\"", "sh"]).arg(&script).arg(SCHEDULER);
        assert!(copy.status().unwrap().success());
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        fake
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.file(name), text).unwrap();
    }

    fn state(&self) -> String {
        fs::read_to_string(self.file("state")).unwrap().trim().to_owned()
    }

    /// The command of a scheduler.
    fn scheduler(&self, words: &str) -> String {
        format!("{} {words}", self.file("sched").display())
    }

    fn unspin(&self, arguments: &[&str]) -> Command {
        let mut command = unspin(arguments);
        command.env("UNSPIN_TEST_SCHED_EXT", self.folder.path());
        command
    }

    /// `unspin run` of [`PROGRAM`] under a scheduler.
    fn run(&self, scheduler: &str) -> (String, String, Option<i32>) {
        let line = self.scheduler(scheduler);
        finish(&mut self.unspin(&["run", "--scheduler", &line, "sh", "-c", PROGRAM]))
    }

    /// The processes of schedulers.
    fn pids(&self) -> Vec<u32> {
        let pids = fs::read_to_string(self.file("pids")).unwrap();
        pids.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    }

    fn has_left_nothing(&self) -> bool {
        self.pids().into_iter().all(gone)
    }
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn program_runs_under_the_scheduler_and_returns_its_code() {
    let fake = FakeSchedExt::new();
    let script = "cat $UNSPIN_TEST_SCHED_EXT/state $UNSPIN_TEST_SCHED_EXT/root/ops; exit 9";
    let line = fake.scheduler("lavd");
    let run = |words: &[&str]| finish(&mut fake.unspin(&[&["run", "--scheduler", &line], words].concat()));
    assert_eq!(run(&["sh", "-c", script]), ("enabled\nlavd\n".into(), String::new(), Some(9)));
    assert_eq!(fake.state(), "disabled");
    let (_, err, code) = run(&["-v", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(
        (err.as_str(), code),
        ("unspin: scheduler: sched_ext lavd, all tasks of the machine\n", Some(128 + 15))
    );
    // Together with what the preload library replaces.
    let (out, err, code) = run(&["--mutex", "fair", "sh", "-c", script]);
    assert_eq!((out.as_str(), code), ("enabled\nlavd\n", Some(9)), "{err}");
    let (_, err, code) = run(&["/nowhere/at/all"]);
    assert_eq!(code, Some(127), "{err}");
    assert!(fake.has_left_nothing() && fake.state() == "disabled");
}

#[test]
fn scheduler_that_does_not_last_is_an_error_with_its_last_lines() {
    let fake = FakeSchedExt::new();
    for (mode, reason, tail) in [
        (
            "ends",
            "the kernel went back to its own scheduler during the run, from '",
            "  | a task was stalled",
        ),
        ("evicted", "the kernel went back to its own scheduler during the run, from '", "  | x says hello"),
        ("replaced", "the scheduler another took the place of '", "  | x says hello"),
        ("reloaded", "was unloaded and loaded again during the run", "  | x says hello"),
    ] {
        let (_, err, code) = fake.run(&format!("x {mode}"));
        assert_eq!(code, Some(125), "{mode}: {err}");
        assert!(err.contains(reason) && err.contains(tail), "{mode}: {err}");
        assert!(err.contains("; the program's exit code is 5"), "{mode}: {err}");
        assert!(!err.contains("ended with exit code 7") || mode == "ends", "{err}");
        assert!(fake.has_left_nothing(), "{mode}");
        fake.write("state", "disabled\n");
    }
    let (_, err, code) = fake.run("x idly");
    assert_eq!((err.as_str(), code), ("", Some(5)), "it lasts");
}

#[test]
fn scheduler_that_does_not_start_is_an_error_with_its_last_lines() {
    let fake = FakeSchedExt::new();
    fake.write("start_limit_ms", "300");
    let (out, err, code) = fake.run("x dies");
    assert_eq!((out.as_str(), code), ("", Some(125)), "{err}");
    assert!(err.contains("ended with exit code 3 before it was enabled; the end of its output:"), "{err}");
    assert!(err.contains("  | libbpf: the verifier refuses it"), "{err}");
    let (_, err, code) = fake.run("x idle");
    assert_eq!(code, Some(125), "{err}");
    assert!(
        err.contains("was not enabled after 0.3 s: it must load a sched_ext scheduler and keep running"),
        "{err}"
    );
    assert!(err.contains("  | x says hello"), "{err}");
    assert!(fake.has_left_nothing());
}

#[test]
fn unusable_scheduler_is_one_line() {
    let fake = FakeSchedExt::new();
    let run = |line: &str| finish(&mut fake.unspin(&["run", "--scheduler", line, "true"]));
    let prove = |line: &str| finish(&mut fake.unspin(&["prove", "--scheduler", line, "true"]));
    for (err, code) in [run("/nowhere/sched x"), prove("/nowhere/sched x")].map(|(_, err, code)| (err, code))
    {
        let expected = "unspin: --scheduler '/nowhere/sched x': there is no command /nowhere/sched\n";
        assert_eq!((err.as_str(), code), (expected, Some(127)));
    }
    for (line, said) in [("sched 'x", "a quote is not closed"), ("", "--scheduler is empty")] {
        for (_, err, code) in [run(line), prove(line)] {
            assert!(err.contains(said) && code == Some(2), "{err}");
        }
    }
    let (_, err, code) = finish(&mut fake.unspin(&["prove", "--scheduler", "x", "--mutex", "fair", "true"]));
    assert!(
        err.contains("'--scheduler <CMD>' cannot be used with '--mutex <KINDS>'") && code == Some(2),
        "{err}"
    );

    fake.write("root/ops", "lavd\n");
    fake.write("state", "enabled\n");
    for (_, err, code) in [run(&fake.scheduler("x")), prove(&fake.scheduler("x"))] {
        assert!(err.contains("unspin: the scheduler lavd is enabled already"), "{err}");
        assert!(err.contains("end the process that has loaded it first\n") && code == Some(125), "{err}");
    }
    assert_eq!(fake.state(), "enabled", "it is not unspin's");
    assert!(fake.pids().is_empty(), "nothing was started");

    fs::remove_file(fake.file("state")).unwrap();
    for (_, err, code) in [run("x"), prove("x")] {
        assert!(
            err.starts_with("unspin: this kernel has no sched_ext: --scheduler needs Linux 6.12"),
            "{err}"
        );
        assert_eq!((err.lines().count(), code), (1, Some(125)));
    }
    let (out, _, _) = finish(&mut fake.unspin(&["doctor"]));
    assert!(
        out.lines().any(|line| line.contains("sched_ext") && line.contains("this kernel has none")),
        "{out}"
    );
}

/// The kernel of these tests may have no policy SCHED_EXT, or no scheduler that takes a task of it.
#[test]
fn program_gets_the_policy_of_a_scheduler_that_takes_single_tasks() {
    let test = "program_gets_the_policy_of_a_scheduler_that_takes_single_tasks";
    let fake = FakeSchedExt::new();
    fake.write("switch_all", "0\n");
    let line = fake.scheduler("mq");
    let policy = "sed 's/.*) //' /proc/self/stat | cut -d' ' -f39";
    let (out, err, code) = finish(&mut fake.unspin(&["run", "-v", "--scheduler", &line, "sh", "-c", policy]));
    if code == Some(125) {
        assert!(err.contains("sched_setscheduler(SCHED_EXT) is refused (Invalid argument"), "{err}");
        assert!(err.contains("scheduler: sched_ext mq, the program only"), "{err}");
        let (out, _, code) =
            finish(&mut fake.unspin(&["prove", "--runs", "6", "--scheduler", &line, "true"]));
        assert_eq!(code, Some(4), "{out}");
        assert!(flat(&out).contains("sched_setscheduler(SCHED_EXT) is refused"), "{out}");
        skip(test, "because the kernel has no sched_ext (Linux 6.12); that it is refused was tested");
    } else {
        assert_eq!((out.as_str(), code), ("7\n", Some(0)), "{err}");
    }
    assert!(fake.has_left_nothing() && fake.state() == "disabled");
}

#[test]
fn schedulers_are_compared_with_the_kernels_and_with_each_other() {
    let fake = FakeSchedExt::new();
    let (json, page) = (fake.file("a.json"), fake.file("a.html"));
    let list = format!("{0},{0},{1}", fake.scheduler("global"), fake.scheduler("mq"));
    let mut command = fake.unspin(&["prove", "--runs", "8", "--scheduler", &list]);
    command.arg("--json").arg(&json).arg("--html").arg(&page);
    // The program must see its scheduler, and none under the control.
    command.args(["sh", "-c", "cat $UNSPIN_TEST_SCHED_EXT/state >> $UNSPIN_TEST_SCHED_EXT/seen"]);
    let (out, err, code) = finish(&mut command);
    assert!([Some(0), Some(1), Some(3)].contains(&code), "{out}{err}");
    let document: Value = schema::read("prove", &json);
    let names: Vec<&str> =
        document["candidates"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    let (global, mq) = (fake.scheduler("global"), fake.scheduler("mq"));
    let twin = format!("{global} (2)");
    assert_eq!(names, ["default scheduler", "default scheduler (again)", &global, &twin, &mq]);
    assert_eq!(document["candidates"][0]["scheduler"], Value::Null);
    let scheduler = &document["candidates"][4]["scheduler"];
    assert_eq!(
        (&scheduler["command"], &scheduler["ops"], &scheduler["reach"]),
        (&mq.as_str().into(), &"mq".into(), &"machine".into())
    );
    let pairs = document["between_schedulers"].as_array().unwrap();
    let pairs: Vec<(&str, &str)> = pairs
        .iter()
        .map(|pair| (pair["control"].as_str().unwrap(), pair["comparison"]["name"].as_str().unwrap()))
        .collect();
    assert_eq!(pairs, [(&*global, &*twin), (&global, &mq), (&twin, &mq)]);
    assert!(out.contains("Verdict") && out.contains("Schedulers"), "{out}");
    assert_eq!(flat(&out).matches("Between the schedulers: ").count(), 3, "{out}");
    assert!(flat(&out).contains("sched_ext mq for all tasks of the machine"), "{out}");
    let seen = fs::read_to_string(fake.file("seen")).unwrap();
    let count = |state: &str| seen.lines().filter(|line| *line == state).count();
    assert_eq!(
        (count("disabled"), count("enabled")),
        (18, 27),
        "warm-up and 8 rounds of 2 and 3 configurations"
    );
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("Between the schedulers") && page.contains("default scheduler"), "{page}");
    assert!(fake.has_left_nothing() && fake.state() == "disabled");
}

#[test]
fn run_whose_scheduler_does_not_last_has_failed() {
    let fake = FakeSchedExt::new();
    for (mode, why) in [
        ("ends", "the kernel went back to its own scheduler during the run"),
        ("replaced", "the scheduler another took the place"),
        ("dies", "ended with exit code 3 before it was enabled"),
    ] {
        let json = fake.file("a.json");
        let line = fake.scheduler(&format!("x {mode}"));
        // The control has no scheduler that could answer.
        let script = format!("[ $(cat $UNSPIN_TEST_SCHED_EXT/state) = disabled ] && exit 0; {PROGRAM}");
        let script = script.replace("exit 5", "exit 0");
        let mut command = fake.unspin(&["prove", "--runs", "6", "--scheduler", &line]);
        command.arg("--json").arg(&json).args(["sh", "-c", &script]);
        let (out, err, code) = finish(&mut command);
        assert_eq!(code, Some(4), "{mode}: {out}{err}");
        assert!(flat(&out).contains(why), "{mode}: {out}");
        let document: Value = schema::read("prove", &json);
        let of_x = |run: &&Value| run["candidate"] == 2;
        let runs = document["runs"].as_array().unwrap().iter().filter(of_x);
        assert!(
            runs.clone().count() > 0 && runs.clone().all(|run| run["value"].is_null()),
            "{mode}: never measured"
        );
        assert!(fake.has_left_nothing(), "{mode}");
        fake.write("state", "disabled\n");
    }
}

/// Another program loads a scheduler and unloads it while the control runs: afterwards only the number tells.
#[test]
fn scheduler_for_a_part_of_the_controls_run_is_noticed() {
    let fake = FakeSchedExt::new();
    let line = fake.scheduler("lavd");
    let script =
        r#"grep -q enabled "$UNSPIN_TEST_SCHED_EXT/state" || echo $$ > "$UNSPIN_TEST_SCHED_EXT/enable_seq""#;
    let (out, err, code) =
        finish(&mut fake.unspin(&["prove", "--runs", "6", "--scheduler", &line, "sh", "-c", script]));
    assert_eq!(code, Some(4), "{out}{err}");
    assert!(flat(&out).contains("another program loaded a scheduler for a part of the run"), "{out}{err}");
}

/// The programs of these commands leave the process group.
#[test]
fn scheduler_outside_the_process_group_is_ended() {
    let fake = FakeSchedExt::new();
    for before in ["timeout 1000", "setsid", "setsid timeout 1000"] {
        let line = format!("{before} {}", fake.scheduler("x"));
        let (out, err, code) = finish(&mut fake.unspin(&["run", "--scheduler", &line, "true"]));
        assert_eq!((out.as_str(), err.as_str(), code), ("", "", Some(0)), "{before}");
        assert!(fake.has_left_nothing() && fake.state() == "disabled", "{before}");
    }
}

/// The program may get it before it is executed, and must not lose it.
#[test]
fn early_signal_ends_the_program() {
    for delay_us in (0..40_000).step_by(2000) {
        let fake = FakeSchedExt::new();
        let mut unspin = fake.unspin(&["run", "--scheduler", &fake.scheduler("x"), "sleep", "1000"]);
        let mut unspin = unspin.spawn().unwrap();
        let number = || fs::read_to_string(fake.file("enable_seq")).unwrap_or_default();
        wait_until("the scheduler is told to be enabled", || !["", "0"].contains(&number().trim()));
        std::thread::sleep(Duration::from_micros(delay_us));
        let kill = Command::new("kill").arg(unspin.id().to_string()).status().unwrap();
        assert!(kill.success());
        let ended = unspin.wait().unwrap();
        assert!(ended.code() == Some(128 + 15) || ended.signal() == Some(15), "{ended}");
        wait_until("the scheduler has ended", || fake.has_left_nothing());
    }
}

/// The scheduler's own process is a child of a script, or in a process group of its own.
#[test]
fn kill_of_unspin_ends_the_scheduler_with_its_children() {
    let ways: [(&[&str], &str, &str); 4] = [
        (&["prove", "--runs", "6", "-q"], "", " & wait; true"),
        (&["run"], "", " & wait; true"),
        (&["run"], "timeout 1000 ", ""),
        (&["run"], "setsid ", ""),
    ];
    for (words, before, after) in ways {
        let fake = FakeSchedExt::new();
        let line = format!("{before}{}{after}", fake.scheduler("x"));
        let mut command = fake.unspin(words);
        let mut unspin = Background::start({
            // Only the candidate's run lasts.
            command.args(["--scheduler", &line, "sh", "-c"]);
            command.arg("[ $(cat $UNSPIN_TEST_SCHED_EXT/state) = disabled ] || { echo $$ > $UNSPIN_TEST_SCHED_EXT/program; exec sleep 1000; }");
            command
        });
        let program = fake.file("program");
        wait_until("the program runs under the scheduler", || {
            fs::read_to_string(&program).is_ok_and(|pid| pid.ends_with('\n'))
        });
        unspin.end();
        let program: u32 = fs::read_to_string(&program).unwrap().trim().parse().unwrap();
        wait_until("the scheduler and the program have ended", || fake.has_left_nothing() && gone(program));
    }
}

#[test]
fn results_of_one_command_with_other_schedulers_are_told_apart() {
    let fake = FakeSchedExt::new();
    let measure = |ops: &str, name: &str| {
        let json = fake.file(name);
        // One command line, whose scheduler has another name.
        let line = format!("{} $OPS", fake.file("sched").display());
        let mut command = fake.unspin(&["prove", "--runs", "6", "--scheduler", &line, "--json"]);
        finish(command.arg(&json).args(["sh", "-c", "true"]).env("OPS", ops));
        json.to_str().unwrap().to_owned()
    };
    let (one, other) = (measure("lavd_1", "1.json"), measure("lavd_2", "2.json"));
    let (out, err, _) = finish(&mut unspin(&["compare", &one, &other]));
    assert!(flat(&out).contains("One command loaded different schedulers: "), "{out}{err}");
    let (_, err, code) = finish(&mut unspin(&["combine", &one, &other]));
    assert!(err.contains("is the scheduler lavd_2, and that of") && code == Some(2), "{err}");
}
