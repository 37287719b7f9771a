//! `unspin combine` on results of a host that `unspin prove` wrote, with other figures.

use crate::common::{finish, schema, unspin};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A real result of four kinds of mutex: `adaptive` is faster, nothing is proven about `steal`, `fair` is slower, `mcs` collapsed.
fn stored() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../page/tests/documents/herd.json");
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// The result as host `number` would have it, with these candidates only: each is so many times as fast as the control, up to one
/// percent of scatter, which differs from host to host.
fn host(number: u64, ratios: &[(&str, f64)]) -> Value {
    let mut document = stored();
    document["machine"]["host"] = json!(format!("n{number}"));
    document["analysis"]["seed"] = json!(number);
    // The comments of a plan have the host's own figures.
    let plan = document["plan"].as_str().unwrap().replace("1.18 times", &format!("1.{number} times"));
    document["plan"] = json!(plan);
    let controls = document["analysis"]["control_runs"].clone();
    let comparisons = document["analysis"]["comparisons"].as_array_mut().unwrap();
    let is_wanted = |comparison: &Value| {
        comparison["role"] != "candidate" || ratios.iter().any(|(name, _)| comparison["name"] == *name)
    };
    comparisons.retain(is_wanted);
    for comparison in comparisons {
        let Some((_, ratio)) = ratios.iter().find(|(name, _)| comparison["name"] == *name) else { continue };
        for (round, run) in comparison["runs"].as_array_mut().unwrap().iter_mut().enumerate() {
            let control = controls[round]["value"].as_f64().unwrap();
            let scatter = (round as u64 * 7919 + number * 104_729) % 101;
            run["value"] = json!(control / ratio * (0.99 + 0.02 * scatter as f64 / 101.0));
        }
    }
    document
}

struct ResultsFolder(tempfile::TempDir);

impl ResultsFolder {
    fn new() -> ResultsFolder {
        ResultsFolder(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, document: &Value) -> PathBuf {
        let file = self.file(name);
        fs::write(&file, document.to_string()).unwrap();
        file
    }

    /// Results of hosts with these ratios of `adaptive`.
    fn hosts(&self, ratios: &[f64]) -> Vec<PathBuf> {
        let host = |(ratio, number): (&f64, u64)| {
            self.write(&format!("n{number}.json"), &host(number, &[("adaptive", *ratio)]))
        };
        ratios.iter().zip(1..).map(host).collect()
    }
}

fn combine(options: &[&str], files: &[PathBuf]) -> (String, String, Option<i32>) {
    let files = files.iter().map(|file| file.to_str().unwrap());
    let arguments: Vec<&str> = ["combine"].into_iter().chain(options.iter().copied()).chain(files).collect();
    finish(&mut unspin(&arguments))
}

/// The text with single spaces: a sentence may be broken anywhere.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn hosts_that_agree_are_one_verdict_in_text_json_and_markdown() {
    let folder = ResultsFolder::new();
    let host = |number: u64, adaptive: f64| {
        let ratios = [("adaptive", adaptive), ("fair", 0.5), ("mcs", 1.0)];
        folder.write(&format!("n{number}.json"), &host(number, &ratios))
    };
    let files: Vec<PathBuf> =
        [1.2, 1.22, 1.18, 1.21, 1.2].into_iter().zip(1..).map(|(ratio, n)| host(n, ratio)).collect();
    let (json, markdown) = (folder.file("fleet.json"), folder.file("fleet.md"));
    let outputs = ["--json", json.to_str().unwrap(), "--markdown", markdown.to_str().unwrap()];
    let (out, err, code) = combine(&[&["--hosts", "5"], &outputs[..]].concat(), &files);
    assert_eq!((err.as_str(), code), ("", Some(0)), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    let text = on_one_line(&out);
    for said in [
        "./herd Compared: adaptive, fair and mcs with system, by wall time, lower is better: 5 hosts with 70 rounds; each host is \
         compared with itself only.",
        "Proven: adaptive is faster in the fleet: on the average host 1.20 times as fast as system.",
        "Proven: fair is slower in the fleet: on the average host 2.00 times as long as system, with 11.8 times the CPU time.",
        "Proven: nothing about mcs. mcs is not recommended: it is not ranked on 5 hosts (n1: ",
        "What to do Use adaptive on this fleet.",
        "The plans that 5 hosts proved are the same (below): `unspin run --use-plan FILE -- ./herd`.",
    ] {
        assert!(text.contains(said), "{said}: {out}");
    }
    let document: Value = schema::read("combine", &json);
    assert_eq!(
        (&document["schema"], &document["conclusion"]),
        (&json!("unspin.combine/1"), &json!("faster"))
    );
    assert_eq!((&document["hosts"][4]["name"], &document["hosts_expected"]), (&json!("n5"), &json!(5)));
    assert_eq!(document["candidates"][2]["not_ranked"].as_array().unwrap().len(), 5);
    let markdown = fs::read_to_string(markdown).unwrap();
    let head = "### `./herd`\n\n- **adaptive is faster in the fleet: on the average host 1.20 times as fast as system.**\n";
    assert!(markdown.starts_with(head), "{markdown}");
    assert!(markdown.contains("\n| n5 | 14 | 1.20 | "), "{markdown}");
}

#[test]
fn host_without_a_result_is_an_obstacle() {
    let folder = ResultsFolder::new();
    let files = folder.hosts(&[1.2, 1.22, 1.18]);
    let (out, err, code) = combine(&["--hosts", "4"], &files);
    assert_eq!((err.as_str(), code), ("", Some(3)), "{out}");
    let text = on_one_line(&out);
    for said in [
        "1 of 4 hosts failed: 1 host wrote no result. The verdict says nothing about them.",
        "on average 1.20 times as fast as system, and is not recommended: 1 host measured nothing.",
    ] {
        assert!(text.contains(said), "{said}: {out}");
    }
}

#[test]
fn result_on_standard_output_is_alone_there() {
    let folder = ResultsFolder::new();
    let files = folder.hosts(&[1.2, 1.22, 1.18]);
    let (out, err, code) = combine(&["--json", "-"], &files);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["schema"], "unspin.combine/1");
    assert!(err.contains("Proven: adaptive is faster in the fleet"), "{err}");
    let quiet = combine(&["--quiet"], &files);
    assert_eq!(quiet, (String::new(), String::new(), Some(0)));
}

#[test]
fn exit_code_is_the_verdict() {
    let folder = ResultsFolder::new();
    let verdict = |ratios: &[f64]| combine(&[], &folder.hosts(ratios));
    assert_eq!(verdict(&[1.2, 1.22, 1.18]).2, Some(0));
    assert_eq!(verdict(&[0.8, 0.82, 0.78]).2, Some(1));
    assert_eq!(verdict(&[1.0, 1.001, 0.999]).2, Some(3));
    let (out, _, code) = verdict(&[1.2, 1.22, 1.18, 0.7, 0.71, 0.69]);
    assert_eq!(code, Some(3), "{out}");
    assert!(
        on_one_line(&out).contains("adaptive depends on the host: faster on 3 hosts, slower on 3 hosts"),
        "{out}"
    );

    let changed = |change: fn(&mut Value)| {
        let results = [(1, 1.2), (2, 1.22), (3, 1.18)].map(|(number, ratio)| {
            let mut document = host(number, &[("adaptive", ratio)]);
            change(&mut document);
            folder.write(&format!("n{number}.json"), &document)
        });
        combine(&[], &results)
    };
    let (out, _, code) = changed(|document| document["analysis"]["settings"]["cpu_limit"] = json!(0.1));
    assert_eq!(code, Some(5), "the interval of the CPU time ends at 1.14: {out}");
    assert_eq!(changed(|document| document["analysis"]["settings"]["cpu_limit"] = json!(0.2)).2, Some(0));
    let (out, _, code) = changed(|document| {
        let failed =
            json!({"kind": "failed", "name": "system", "failed": 2, "runs": 15, "reason": "signal 11"});
        for comparison in document["analysis"]["comparisons"].as_array_mut().unwrap() {
            comparison["verdict"] = failed.clone();
        }
    });
    assert_eq!(code, Some(4), "{out}");
    assert!(out.contains("system failed in 2 of 15 runs (first: signal 11)"), "{out}");
}

#[test]
fn hosts_that_had_other_limits_or_other_builds_are_named() {
    let folder = ResultsFolder::new();
    let mut files = folder.hosts(&[1.2, 1.22, 1.18]);
    let mut other = host(4, &[("adaptive", 1.2)]);
    other["analysis"]["settings"]["cpu_limit"] = json!(0.5);
    let plan =
        |place: &str| json!(format!("unspin plan 2\nwakeup\t25000\nadaptive\tvariable\t{place}@/herd\n"));
    for (file, place) in files.iter().zip(["4040-4068"; 3]) {
        let mut document: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        document["candidates"][3]["plan"] = plan(place);
        fs::write(file, document.to_string()).unwrap();
    }
    other["candidates"][3]["plan"] = plan("5040-5068");
    files.push(folder.write("n4.json", &other));
    let (out, err, code) = combine(&[], &files);
    assert_eq!((err.as_str(), code), ("", Some(0)), "{out}");
    let text = on_one_line(&out);
    assert!(
        text.contains("(none on n1, n2 and n3; 50 % on n4): the strictest counts on all, 50 %."),
        "{out}"
    );
    assert!(text.contains("adaptive replaces other places on some hosts (n1, n2 and n3; n4): "), "{out}");
}

#[test]
fn what_does_not_belong_together_is_refused_in_one_line() {
    let folder = ResultsFolder::new();
    let files = folder.hosts(&[1.2, 1.22]);
    let with = |name: &str, pointer: &str, value: Value| {
        let mut document = host(3, &[("adaptive", 1.2)]);
        *document.pointer_mut(pointer).unwrap() = value;
        folder.write(name, &document)
    };
    let text = |name: &str, text: &str| {
        fs::write(folder.file(name), text).unwrap();
        folder.file(name)
    };
    let cases = [
        (folder.write("copy.json", &host(1, &[("adaptive", 1.2)])), "is the same session as "),
        (with("command.json", "/command/0", json!("./other")), "measured `./other`, and "),
        (with("metric.json", "/analysis/metric/name", json!("tps")), "its metric is tps [s], and that of "),
        (with("control.json", "/analysis/control", json!("pi")), "its control is pi, and that of "),
        (
            with("plan.json", "/candidates/3/plan", json!("unspin plan 2\nsteal\tall\n")),
            "its candidate adaptive is steal for all mutexes, and that of ",
        ),
        (with("scale.json", "/schema", json!("unspin.prove/2")), "has the format unspin.prove/2"),
        (text("cut.json", "{\"schema\": \"unspin.prove/3\", \"command\": ["), "is not whole: "),
        (text("other.json", "{}"), "is not a result of unspin"),
        (folder.file("missing.json"), "No such file or directory"),
    ];
    for (file, why) in cases {
        let output = folder.file("verdict.json");
        let all = [&files[..], std::slice::from_ref(&file)].concat();
        let (out, err, code) = combine(&["--json", output.to_str().unwrap()], &all);
        assert_eq!((out.as_str(), code, err.lines().count()), ("", Some(2), 1), "{why}: {err}");
        assert!(err.starts_with(&format!("unspin: {}: {why}", file.display())), "{why}: {err}");
        assert!(!output.exists(), "{why}");
    }
    let (_, err, code) = combine(&[], &files[..1]);
    assert!(err.starts_with("unspin: one result is no fleet"), "{err}");
    assert_eq!(code, Some(2));
    let (_, err, code) = combine(&["--hosts", "2"], &[&files[..], &[folder.file("n1.json")]].concat());
    assert_eq!(code, Some(2), "{err}");
    let nowhere = ["--markdown", "/nonexistent/fleet.md"];
    let (out, err, code) = combine(&nowhere, &files);
    assert_eq!((out.as_str(), code), ("", Some(2)));
    assert!(err.starts_with("unspin: --markdown /nonexistent/fleet.md: "), "{err}");
}
