//! `unspin compare` on results that `unspin prove` wrote.

use crate::common::{finish, schema, unspin};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Some System V semaphore calls: an engine without calls cannot be judged.
const CALL: &str = concat!(env!("CARGO_BIN_EXE_unspin"), " semopbench -g 1 -s 1 -n 1 > /dev/null");

/// Measures a program that reads its figure in a file, so that no load of this machine changes it. `rcu` has twice the figure.
fn measure(folder: &Path, name: &str, figure: u32) -> PathBuf {
    let (source, result) = (folder.join("figure"), folder.join(name));
    fs::write(&source, figure.to_string()).unwrap();
    let script = format!(
        "{CALL}; n=$(cat {}); case $UNSPIN_SYSV in rcu) echo tps: $((2 * n));; *) echo tps: $n;; esac",
        source.display()
    );
    let options = [
        "prove",
        "--quiet",
        "--runs",
        "7",
        "--metric",
        "tps",
        "--higher-is-better",
        "--sysv",
        "rcu",
        "--json",
    ];
    let command = ["--", "sh", "-c", &script];
    let (out, err, code) =
        finish(&mut unspin(&[&options[..], &[result.to_str().unwrap()], &command].concat()));
    assert_eq!(code, Some(0), "{out}{err}");
    // As on a quiet machine: other programs raise the floor.
    let quiet = ["/disturbance/others_s", "/disturbance/steal_s"];
    quiet.into_iter().fold(result, |result, pointer| changed(&result, name, pointer, 0.0))
}

fn compare(options: &[&str], files: &[&Path]) -> (String, String, Option<i32>) {
    let files = files.iter().map(|file| file.to_str().unwrap());
    let arguments: Vec<&str> = ["compare"].into_iter().chain(options.iter().copied()).chain(files).collect();
    finish(&mut unspin(&arguments))
}

/// The document with another value at this pointer.
fn changed(file: &Path, name: &str, pointer: &str, value: impl Into<Value>) -> PathBuf {
    let mut document: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    *document.pointer_mut(pointer).unwrap() = value.into();
    let changed = file.with_file_name(name);
    fs::write(&changed, document.to_string()).unwrap();
    changed
}

/// Figures that differ by a factor of a thousand: other programs on this machine, which raise the floor, do not explain that.
#[test]
fn results_of_prove_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let fast = measure(folder, "fast.json", 500_000);
    let again = measure(folder, "again.json", 500_000);
    let slow = measure(folder, "slow.json", 500);

    let (out, err, code) = compare(&[], &[&fast, &slow]);
    assert_eq!((err.as_str(), code), ("", Some(1)), "{out}");
    assert!(out.contains("Proven: kernel is worse, its tps is 0.0010 times that before"), "{out}");
    // Both use the CPU alike, and the slower one does a thousandth of the work.
    let price = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(price.contains(" times the CPU time per unit of work; "), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    assert_eq!(compare(&[], &[&slow, &fast]).2, Some(0), "better");
    let (out, _, code) = compare(&[], &[&fast, &again]);
    assert_eq!(code, Some(3), "{out}");

    let gate = ["--fail-if-slower", "5", "--fail-if-unsure"];
    let (out, _, code) = compare(&gate, &[&fast, &again]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("Gate kept: no configuration is slower than before by more than 5 %."), "{out}");
    let (out, _, code) = compare(&gate, &[&fast, &slow]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("Gate exceeded: kernel is slower by 100 %"), "{out}");

    let (json, markdown) = (folder.join("compared.json"), folder.join("compared.md"));
    let files = ["--quiet", "--json", json.to_str().unwrap(), "--markdown", markdown.to_str().unwrap()];
    assert_eq!(compare(&files, &[&fast, &slow]), (String::new(), String::new(), Some(1)));
    let document: Value = schema::read("compare", json);
    assert_eq!((&document["schema"], &document["conclusion"]), (&"unspin.compare/1".into(), &"worse".into()));
    assert_eq!(document["figures"][0]["cpu"]["per"], "unit");
    assert!(fs::read_to_string(markdown).unwrap().starts_with("### unspin compare: worse\n"));
    let (out, err, code) = compare(&["--markdown", "-", "--configuration", "kernel"], &[&fast, &slow]);
    assert!(out.starts_with("### unspin compare: worse") && !out.contains("no preload"), "{out}");
    assert!(err.contains("Proven: kernel is worse") && code == Some(1), "{err}");

    let elsewhere = changed(&slow, "elsewhere.json", "/machine/host", "another");
    let (out, _, code) = compare(&[], &[&fast, &elsewhere]);
    assert_eq!(code, Some(3), "the gain of rcu is the same: {out}");
    assert!(out.contains("so the figures are not compared, only the gains"), "{out}");
    let (_, err, code) = compare(&gate, &[&fast, &elsewhere]);
    assert_eq!((err.lines().count(), code), (1, Some(2)), "{err}");
    assert_eq!(compare(&["--across-machines"], &[&fast, &elsewhere]).2, Some(1));

    let other = changed(&slow, "other.json", "/command/2", "echo \u{202e}\n1");
    let (_, err, code) = compare(&[], &[&fast, &other]);
    assert!(err.starts_with("unspin: the commands differ: ") && err.lines().count() == 1, "{err}");
    assert_eq!(code, Some(2));
    let broken = changed(&slow, "broken.json", "/analysis/control_runs/3/value", -1.0);
    let (_, err, code) = compare(&["--fail-if-slower", "5"], &[&fast, &broken]);
    assert!(err.contains("broken.json: is a damaged result: the metric is -1;"), "{err}");
    assert_eq!((err.lines().count(), code), (1, Some(2)), "{err}");

    let mut several = unspin(&["compare", "--before"]);
    several.args([&fast, &again]).arg("--after").args([&slow, &elsewhere]).arg("--across-machines");
    let (out, err, code) = finish(&mut several);
    assert!(
        err.contains("hold the same session") && code == Some(2),
        "a copy is no session of its own: {out}{err}"
    );
}

#[test]
fn what_is_no_result_of_prove_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &[u8]| {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        file
    };
    let missing = folder.path().join("missing.json");
    let cases = [
        (
            missing.clone(),
            "No such file or directory (os error 2); name a file that `unspin prove` (--json, --html) has written",
        ),
        (folder.path().to_owned(), "Is a directory"),
        (
            file("bytes", b"\xff\xfe"),
            "is not text; name a file that `unspin prove` (--json, --html) has written",
        ),
        (file("empty", b""), "has written"),
        (file("other", b"{}"), "is not a result of unspin: write one with --json"),
        (
            file("old", br#"{"schema": "unspin.prove/2"}"#),
            "read it with the unspin that wrote it, or measure again",
        ),
        (file("damaged", br#"{"schema": "unspin.prove/3"}"#), "; measure again, or name another file"),
        (
            file("text", b"root:x:0:0\n"),
            "is not JSON: expected value at line 1 column 1; name a file that `unspin prove`",
        ),
        (
            file("plan.toml", b"[[mutex]]\nlock = \"*\"\nkind = \"adaptive\"\n"),
            "is a plan, which `unspin plan show ",
        ),
        (
            file("rec.lock", b"UNSPINLK\0\0"),
            "is a recording, and no result; name a file that `unspin prove` (--json, --html) has written",
        ),
        (
            file("plan", b"unspin plan 2\nwaits\tpoll\n"),
            "is a compiled plan, and no result; name a file that",
        ),
    ];
    for (file, why) in cases {
        let (out, err, code) = compare(&[], &[&file, &missing]);
        assert_eq!((out.as_str(), code, err.lines().count()), ("", Some(2), 1), "{err}");
        assert!(
            err.starts_with(&format!("unspin: {}: ", file.display())) && err.contains(why),
            "{why}: {err}"
        );
    }
    let result = file("result", b"{}");
    let (_, err, code) = compare(&["--json", result.to_str().unwrap()], &[&result, &missing]);
    assert!(err.contains("a result is the same file: name another"), "{err}");
    assert_eq!((code, fs::read(result).unwrap().as_slice()), (Some(2), &b"{}"[..]));
}

/// A file of another kind has a command of its own.
#[test]
fn page_of_another_file_is_refused_with_its_command() {
    let folder = tempfile::tempdir().unwrap();
    let (recording, page) = (folder.path().join("run.lock"), folder.path().join("page.html"));
    let recorded = finish(unspin(&["meter", "-o", "/dev/null", "--record"]).arg(&recording).arg("true"));
    assert_eq!(recorded.2, Some(0), "{recorded:?}");
    let plan = folder.path().join("bench.toml");
    fs::write(&plan, "[[wait]]\nsite = \"*\"\npolicy = \"poll\"\n").unwrap();
    for (file, why) in [
        (
            recording.as_path(),
            format!("is a recording, of which `unspin report {} --html FILE` makes", recording.display()),
        ),
        (&plan, format!("is a plan, which `unspin plan show {}` prints", plan.display())),
        (Path::new("/etc/passwd"), "line 1 column 1; name a file that --json or --html has written".into()),
    ] {
        let (_, err, code) = finish(unspin(&["page"]).arg(file).arg("--output").arg(&page));
        assert_eq!((code, err.lines().count()), (Some(2), 1), "{err}");
        assert!(err.contains(&why) && !page.exists(), "{why}: {err}");
    }
}
