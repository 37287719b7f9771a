//! `unspin reproduce`: one report from start to end, an interrupt, bad input, a report that cannot be measured, and `unspin` not
//! found.

use crate::common::{
    Background, children_of, finish, finish_with_progress, gone, schema, unspin, wait_until,
};
use std::fs;
use std::path::Path;
use std::process::Command;
use unspin_sys::child::{self, Signal};

/// The run queues need neither permissions nor many CPUs. Whatever the machine's load, the exit code says that the report was
/// measured, and no verdict is expected.
#[test]
fn quick_report_is_measured_from_start_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("volano.json");
    let (out, err, code) =
        finish_with_progress(unspin(&["reproduce", "--quick", "volano", "--json"]).arg(&file));
    assert_eq!(code, Some(0), "{out}\n{err}");
    let first = err.lines().next().unwrap_or_default();
    assert!(first.starts_with("unspin reproduce: volano, at most 20 s left; 0 s of at most 20 s: "), "{err}");
    for part in [
        "At most some 20 s: volano 20 s.\n",
        "== volano: Hartner 2001: ",
        "\npublished, 8 CPUs: CPUs that runqueue_lock took",
        "cannot be judged: the report states one figure for each side, and no runs.",
        "\nCPUs that runqueue_lock took here: ",
        "\nThe same: ",
        "\nNot the same: ",
        "runqueue_lock",
        "\nRepeat: unspin prove --time-budget 20s --runqueue global,percpu volano ",
        "\nNext:\n    -> ",
    ] {
        assert!(out.contains(part), "no '{part}' in {out}");
    }
    assert!(!out.contains("== all reports"), "one report has no table of all: {out}");
    let json: serde_json::Value = schema::read("reproduce", &file);
    assert_eq!((json["schema"].as_str(), json["quick"].as_bool()), (Some("unspin.reproduce/1"), Some(true)));
    let report = &json["reports"][0];
    assert_eq!((report["name"].as_str(), report["outcome"].as_str()), (Some("volano"), Some("measured")));
    assert_eq!(report["published"][0]["before"]["figure"]["single"], 4.56);
    assert_eq!(report["experiments"][0]["prove"]["schema"], "unspin.prove/3");
}

/// What was measured until then is printed, the others are named, and no process stays behind.
#[test]
fn interrupt_reports_what_is_complete_and_leaves_nothing_running() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("all.json"), folder.path().join("out"));
    let mut command = unspin(&["reproduce", "--quick", "--json"]);
    command.arg(&file);
    let mut run = Background::start_with_output(command, &out);
    run.wait_for_line("unspin reproduce: semopbench, report 1 of 5");
    let mut children = Vec::new();
    wait_until("a run has begun", || {
        children = children_of(run.pid());
        !children.is_empty()
    });
    child::signal(run.pid(), Signal::Terminate).unwrap();
    assert_eq!(run.wait().code(), Some(130), "{}", run.rest());
    let out = fs::read_to_string(&out).unwrap();
    for name in ["semopbench", "dbt1", "profile", "volano", "hackbench"] {
        assert!(out.contains(&format!("\n{name}: interrupted\n")), "{out}");
    }
    assert!(out.contains("== all reports"), "{out}");
    let json: serde_json::Value = schema::read("reproduce", &file);
    assert_eq!(json["reports"].as_array().unwrap().len(), 5);
    wait_until("the runs have ended", || children.iter().all(|&pid| gone(pid)));
}

#[test]
fn report_that_cannot_be_measured_is_named_and_has_its_exit_code() {
    // A URL that leads nowhere: the control fails, the figures of the report are printed all the same.
    let (out, err, code) = finish_with_progress(&mut unspin(&[
        "reproduce",
        "--quick",
        "dbt1",
        "--db",
        "postgres://localhost:1/none",
    ]));
    assert_eq!(code, Some(4), "{out}\n{err}");
    assert!(out.contains("published, 2 CPUs: five runs [BT/s]"), "{out}");
    assert!(out.contains("\nFailed: ") && out.contains("\nNext:\n"), "{out}");
}

#[test]
fn kernels_that_cannot_be_booted_are_named_with_the_package() {
    let mut command = unspin(&["reproduce", "--quick", "--kernel", "hackbench"]);
    let (out, err, code) = finish_with_progress(command.env("PATH", "/nonexistent"));
    assert_eq!(code, Some(4), "{out}\n{err}");
    assert!(out.contains("published, 4 CPUs: rt → vanilla [s]"), "{out}");
    let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Missing on this machine: there is no qemu-system-x86_64 in PATH"), "{out}");
    assert!(text.contains("apt-get install qemu-system-x86"), "{out}");
}

#[test]
fn missing_unspin_is_named_with_the_command_that_installs_it() {
    let folder = tempfile::tempdir().unwrap();
    let lab = folder.path().join("unspin-lab");
    unspin_e2e::copy_program(Path::new(env!("CARGO_BIN_EXE_unspin-lab")), &lab);
    let mut command = Command::new(lab);
    command
        .args(["reproduce", "--quick", "semopbench"])
        .env("PATH", "/nonexistent")
        .env_remove("UNSPIN_EXECUTABLE");
    let expected = "unspin: unspin-lab needs the program unspin, which is not installed: cargo install --path crates/cli\n";
    assert_eq!(finish(&mut command), (String::new(), expected.to_owned(), Some(127)));
}

#[test]
fn invalid_requests_are_one_line() {
    let cases: [(&[&str], &str); 5] = [
        (
            &["reproduce", "--kernel", "dbt1"],
            "has no comparison of today's kernels: leave it out, or name profile or volano or hackbench",
        ),
        (&["reproduce", "tpcw"], "'tpcw' for '[REPORT]'"),
        (&["reproduce", "--fast"], "`unspin reproduce` has no --fast: "),
        (&["reproduce", "--db", "oracle"], "unspin: dbt1: --db oracle: give sqlite, postgres, or the URL"),
        (&["reproduce", "--json", "/nonexistent/x.json"], "unspin: --json /nonexistent/x.json: "),
    ];
    for (arguments, expected) in cases {
        let (out, err, code) = finish(&mut unspin(arguments));
        assert_eq!((out.as_str(), code), ("", Some(2)), "{arguments:?}: {err}");
        assert!(err.lines().next().unwrap().contains(expected), "{arguments:?}: {err}");
    }
}
