//! `unspin prove --ci`, its summary in Markdown and JUnit XML; the workflow files of docs/ci.

use crate::common::{finish, finish_with_progress, skip, unspin};
use crate::terminal::TerminalSession;
use quick_junit::{Report, TestCaseStatus};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A script with a figure that depends on the engine: rcu is better, global is equal.
const SCRIPT: &str = concat!(
    env!("CARGO_BIN_EXE_unspin"),
    " semopbench -g 1 -s 1 -n 1 > /dev/null; case $UNSPIN_SYSV in rcu) echo tps: 200;; *) echo tps: 100;; esac"
);

/// `prove --ci` of the script, with more options.
fn words<'a>(options: &[&'a str]) -> Vec<&'a str> {
    let prove =
        ["prove", "--ci", "--runs", "8", "--metric", "tps", "--higher-is-better", "--sysv", "global,rcu"];
    [&prove, options, &["--", "sh", "-c", SCRIPT]].concat()
}

fn read_junit(file: &Path) -> Report {
    Report::deserialize_from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn summary_is_added_for_github_and_junit_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (summary, junit) = (folder.path().join("summary.md"), folder.path().join("unspin.xml"));
    fs::write(&summary, "of another step\n").unwrap();
    let mut command = unspin(&words(&["--junit", junit.to_str().unwrap()]));
    let (out, err, code) = finish(command.env("GITHUB_STEP_SUMMARY", &summary));
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.contains("\nVerdict\n") && !out.contains("## unspin prove"), "{out}");
    let summary = fs::read_to_string(&summary).unwrap();
    let head = "of another step\n## unspin prove: `sh`, 1 proven better, 1 not proven\n\n**Proven: rcu is better, its tps is 2.00 times \
                kernel's";
    assert!(summary.starts_with(head), "{summary}");
    for part in [
        "; nothing about global.**\n\nHow sure: with 95 % confidence ",
        "\n| candidate | verdict | ratio | 95 % interval | mean ± sd | CPU | p | runs | failed |\n",
        "\n| `kernel` |  | 1 | the control | ",
        "\n| `rcu` | proven better | 2.00 | ",
        "\n| `global` | not proven | 1.00 | ",
        "\nTo repeat it:\n\n```sh\nunspin prove --ci --runs 8 ",
        "\nExit code 0: at least one candidate is proven better.\n",
    ] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    let junit = read_junit(&junit);
    let suite = &junit.test_suites[0];
    assert_eq!((junit.tests, junit.failures, junit.errors, junit.skipped), (2, 0, 0, 1), "{junit:?}");
    assert_eq!(suite.system_out.as_ref().unwrap().as_str().trim(), out.trim(), "the report");
    let status = |name: &str| {
        &suite
            .test_cases
            .iter()
            .find(|case| case.name.as_str() == name)
            .unwrap_or_else(|| panic!("{name}"))
            .status
    };
    assert!(matches!(status("rcu"), TestCaseStatus::Success { .. }));
    assert!(matches!(status("global"), TestCaseStatus::Skipped { message: Some(why), .. }
        if why.as_str().contains("no difference proven")));
}

#[test]
fn summary_is_printed_where_no_file_is_named() {
    let (out, _, code) = finish(&mut unspin(&words(&[])));
    assert_eq!(code, Some(0), "{out}");
    let (report, summary) = out.split_once("\n## unspin prove: `sh`, ").expect(&out);
    assert!(report.contains("\nVerdict\n") && summary.contains("\nExit code 0: "), "{out}");
}

#[test]
fn markdown_goes_to_the_named_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("unspin.md");
    let (out, _, code) = finish(&mut unspin(&words(&["--markdown", file.to_str().unwrap()])));
    assert_eq!(code, Some(0), "{out}");
    assert!(!out.contains("## unspin prove"), "{out}");
    assert!(fs::read_to_string(&file).unwrap().starts_with("## unspin prove: `sh`, "), "{out}");
}

#[test]
fn file_that_cannot_be_written_is_named_before_anything_is_run() {
    let mut command = unspin(&words(&[]));
    let (out, err, code) =
        finish_with_progress(command.env("GITHUB_STEP_SUMMARY", "/nonexistent/summary.md"));
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert!(
        err.contains("GITHUB_STEP_SUMMARY /nonexistent/summary.md: ") && err.contains("make its folder"),
        "{err}"
    );
    let (_, err, code) = finish_with_progress(&mut unspin(&words(&["--junit", "/nonexistent/unspin.xml"])));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("--junit /nonexistent/unspin.xml: "), "{err}");
}

#[test]
fn program_that_does_not_exist_is_an_error_in_junit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("unspin.xml");
    let (out, err, code) = finish(&mut unspin(&[
        "prove",
        "--ci",
        "--junit",
        file.to_str().unwrap(),
        "--waits",
        "poll",
        "--",
        "/nonexistent/program",
    ]));
    assert_eq!(code, Some(127), "{out}{err}");
    assert!(out.starts_with("## unspin prove: `program`, the program does not exist\n"), "{out}");
    let junit = read_junit(&file);
    assert_eq!((junit.tests, junit.errors), (1, 1), "{junit:?}");
    let properties = &junit.test_suites[0].properties;
    assert!(properties.iter().all(|property| !property.value.is_empty()), "{properties:?}");
}

#[test]
fn step_summary_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let summary = folder.path().join("summary.md");
    let options = ["--markdown", summary.to_str().unwrap()];
    let (_, err, code) = finish_with_progress(unspin(&words(&options)).env("GITHUB_STEP_SUMMARY", &summary));
    assert_eq!((code, err.lines().count()), (Some(2), 1), "{err}");
    assert!(err.contains("--ci adds the summary to it: leave --markdown out"), "{err}");
    let mut command = unspin(&words(&[]));
    command.env("GITHUB_STEP_SUMMARY", "-").current_dir(folder.path());
    let (out, err, code) = finish_with_progress(&mut command);
    assert!(code == Some(0) && out.starts_with("## unspin prove: `sh`, "), "{out}");
    assert!(err.contains("\nVerdict\n") && !folder.path().join("-").exists(), "{err}");
}

/// A program without locks: the printed report explains that, and the files for CI do, too.
#[test]
fn reason_and_next_step_are_in_the_summary() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("job.sh");
    fs::write(&script, "exec sleep 0.3\n").unwrap();
    let [markdown, junit] = ["unspin.md", "unspin.xml"].map(|name| folder.path().join(name));
    let mut command = unspin(&["prove", "--runs", "6", "--markdown"]);
    command.arg(&markdown).arg("--junit").arg(&junit).arg("sh").arg(&script);
    let (out, _, code) = finish_with_progress(&mut command);
    assert_eq!(code, Some(3), "{out}");
    let summary = fs::read_to_string(&markdown).unwrap();
    assert!(summary.starts_with("## unspin prove: `sh job.sh`, "), "{summary}");
    let next = "`unspin meter --lens off-cpu`, in front of the same command, says what the threads wait for";
    assert!(summary.contains(next), "{summary}{out}");
    let repeat = format!("```sh\nunspin prove --runs 6 sh {}\n```", script.display());
    assert!(summary.contains(&repeat), "{summary}");
    let junit = read_junit(&junit);
    let case = &junit.test_suites[0].test_cases[0];
    assert_eq!(case.classname.as_ref().unwrap().as_str(), "unspin.prove.sh job_sh");
    assert!(
        matches!(&case.status, TestCaseStatus::Skipped { message: Some(why), .. } if why.as_str().contains("--lens off-cpu")),
        "{case:?}"
    );
}

#[test]
fn terminal_is_not_controlled() {
    let arguments = [&[env!("CARGO_BIN_EXE_unspin")], &words(&[])[..]].concat();
    let Some(session) = TerminalSession::start("terminal_is_not_controlled", &arguments) else { return };
    session.wait_for("Exit code 0: ");
    let text = session.text();
    assert!(text.contains("unspin prove: ") && !text.contains('\u{1b}'), "{text:?}");
}

/// The workflow files of the documents.
fn workflows() -> [PathBuf; 2] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ci");
    ["github.yml", "gitlab.yml"].map(|name| folder.join(name))
}

/// Each `unspin` of the files has options that exist: the program that it names does not.
#[test]
fn commands_of_the_workflow_files_are_accepted() {
    for file in workflows() {
        let text = fs::read_to_string(&file).unwrap();
        let lines =
            text.lines().filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix("unspin prove "));
        let commands: Vec<&str> = lines.map(|line| line.split(" || ").next().unwrap()).collect();
        assert_eq!(commands.len(), 1, "{}", file.display());
        let folder = tempfile::tempdir().unwrap();
        let words = shell_words::split(commands[0]).unwrap();
        let words = ["prove"].into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>();
        let (_, err, code) = finish(unspin(&words).current_dir(folder.path()));
        assert_eq!(code, Some(127), "{}: {err}", file.display());
    }
}

/// The schemas of SchemaStore, which check-jsonschema has.
#[test]
fn workflow_files_keep_to_the_published_schemas() {
    let python = std::env::var("UNSPIN_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let check = |schema: &str, file: &Path| {
        let arguments = ["-m", "check_jsonschema", "--builtin-schema", schema];
        Command::new(&python).args(arguments).arg(file).output()
    };
    let version = Command::new(&python).args(["-m", "check_jsonschema", "--version"]).output();
    if !version.is_ok_and(|output| output.status.success()) {
        return skip(
            "workflow_files_keep_to_the_published_schemas",
            "because Python lacks check-jsonschema; UNSPIN_TEST_PYTHON names one that has it",
        );
    }
    let folder = tempfile::tempdir().unwrap();
    for (schema, file) in ["vendor.github-workflows", "vendor.gitlab-ci"].into_iter().zip(workflows()) {
        let output = check(schema, &file).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        // The check can fail.
        let flawed = folder.path().join("flawed.yml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&flawed, text.replace("timeout", "time-out")).unwrap();
        assert!(!check(schema, &flawed).unwrap().status.success(), "{schema}");
    }
}

/// A reader of the job's page alone learns why nothing could be compared.
#[test]
fn summary_of_a_failed_control_has_the_reason() {
    let script = concat!(
        env!("CARGO_BIN_EXE_unspin"),
        " semopbench -g 1 -s 1 -n 1 > /dev/null; echo 'lost: message 17' >&2; exit 7"
    );
    let (out, _, code) =
        finish(&mut unspin(&["prove", "--ci", "--runs", "6", "--sysv", "rcu", "sh", "-c", script]));
    assert_eq!(code, Some(4), "{out}");
    let (_, summary) = out.split_once("\n## unspin prove: ").expect(&out);
    let why = "First failure of kernel: it ended with exit code 7. Its output ends with: lost: message 17";
    assert!(summary.contains(why), "{summary}");
    let row = summary.lines().find(|line| line.starts_with("| `kernel` |")).expect(summary);
    assert!(row.ends_with("| 0 | 1 |"), "the warm-up failed: {row}");
}
