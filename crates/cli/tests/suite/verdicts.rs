//! Every verdict of `unspin compare` and `unspin combine` keeps to its schema, and has a page from which the same JSON is read.

use crate::common::{finish, schema, unspin};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A session of `unspin prove`: `adaptive` is better, `fair` worse, `mcs` collapsed, and of `steal` nothing is proven.
const SESSION: &str = include_str!("../../../page/tests/documents/herd.json");

/// A folder with sessions, and a number for each, because two sessions differ in their length.
struct Sessions {
    folder: tempfile::TempDir,
    number: u32,
}

impl Sessions {
    fn new() -> Sessions {
        Sessions { folder: tempfile::tempdir().unwrap(), number: 0 }
    }

    /// The session on a quiet machine, changed.
    fn store(&mut self, change: impl FnOnce(&mut Value)) -> PathBuf {
        self.number += 1;
        let mut document: Value = serde_json::from_str(SESSION).unwrap();
        document["disturbance"]["others_s"] = json!(0.0);
        document["elapsed_s"] = json!(20 + self.number);
        document["runs"][0]["started_s"] = json!(0.001 * f64::from(self.number));
        change(&mut document);
        let file = self.folder.path().join(format!("{}.json", self.number));
        fs::write(&file, document.to_string()).unwrap();
        file
    }

    /// Runs a command on files. The document that it writes keeps to its schema, and that of its page is the same.
    fn document(&self, command: &str, options: &[&str], files: &[PathBuf]) -> Value {
        let [json, page, within] =
            ["out.json", "out.html", "within.json"].map(|name| self.folder.path().join(name));
        let outputs = ["--json".as_ref(), json.as_os_str(), "--html".as_ref(), page.as_os_str()];
        let mut run = unspin(&[command]);
        run.args(options).args(outputs).args(files);
        let (out, err, code) = finish(&mut run);
        assert!(err.is_empty() && code != Some(125), "{out}{err}");
        let (out, err, code) = finish(unspin(&["page", "--json"]).arg(&within).arg(&page));
        assert_eq!(code, Some(0), "{out}{err}");
        let [document, shown]: [Value; 2] = [&json, &within].map(|file| schema::read(command, file));
        assert_eq!(document, shown, "the JSON in the page");
        document
    }
}

/// All runs of the configurations with these names.
fn runs(document: &mut Value, is_it: impl Fn(&str) -> bool) -> Vec<&mut Value> {
    let control = document["analysis"]["control"].as_str().unwrap().to_owned();
    let mut found = Vec::new();
    let Value::Object(analysis) = &mut document["analysis"] else { panic!("no analysis") };
    for (field, value) in analysis {
        match field.as_str() {
            "control_runs" if is_it(&control) => found.push(value),
            "comparisons" => {
                let named = value.as_array_mut().unwrap().iter_mut();
                found.extend(named.filter(|c| is_it(c["name"].as_str().unwrap())).map(|c| &mut c["runs"]));
            }
            _ => {}
        }
    }
    found
}

fn scale(document: &mut Value, name: &str, times: f64) {
    for runs in runs(document, |known| name.is_empty() || known == name) {
        for run in runs.as_array_mut().unwrap() {
            if let Some(value) = run["value"].as_f64() {
                run["value"] = json!(value * times);
            }
        }
    }
}

fn keep(document: &mut Value, rounds: usize) {
    runs(document, |_| true).into_iter().for_each(|runs| runs.as_array_mut().unwrap().truncate(rounds));
}

/// What stands behind this field, anywhere in a document.
fn words(value: &Value, field: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            let own = fields.get(field).and_then(Value::as_str);
            found.extend(own.map(str::to_owned));
            fields.values().for_each(|value| words(value, field, found));
        }
        Value::Array(values) => values.iter().for_each(|value| words(value, field, found)),
        _ => {}
    }
}

fn all_words(documents: &[Value], field: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    documents.iter().for_each(|document| words(document, field, &mut found));
    found
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// With so many candidates that six runs of each can prove nothing.
fn many_candidates(document: &mut Value) {
    keep(document, 6);
    let comparisons = document["analysis"]["comparisons"].as_array_mut().unwrap();
    let steal = comparisons.iter().find(|comparison| comparison["name"] == "steal").unwrap().clone();
    comparisons.extend((0..30).map(|number| {
        let mut another = steal.clone();
        another["name"] = json!(format!("steal {number}"));
        another
    }));
}

#[test]
fn every_verdict_of_compare_keeps_to_the_schema() {
    let mut sessions = Sessions::new();
    let base = sessions.store(|_| {});
    let slow = sessions.store(|document| scale(document, "", 3.0));
    let elsewhere = sessions.store(|document| {
        document["machine"]["host"] = json!("another");
        scale(document, "adaptive", 0.2);
    });
    let noisy = sessions.store(|document| {
        scale(document, "", 3.0);
        document["analysis"]["noise_floor"]["factor"] = json!(4.0);
    });
    let short = sessions.store(|document| keep(document, 3));
    let failed = sessions.store(|document| {
        document["analysis"]["control_runs"][2] =
            json!({"elapsed_s": 1.0, "cpu_s": 1.0, "outcome": "failed", "reason": "exit code 1"});
    });
    let empty = sessions.store(|document| {
        keep(document, 0);
        document["no_preload"] = Value::Null;
    });
    let many = [sessions.store(many_candidates), sessions.store(many_candidates)];
    let of = |options: &[&str], before: &Path, after: &Path| {
        sessions.document("compare", options, &[before.to_owned(), after.to_owned()])
    };
    let gate = ["--fail-if-slower", "5"];
    let documents = [
        of(&gate, &base, &slow),
        of(&gate, &slow, &base),
        of(&["--fail-if-slower", "500", "--configuration", "system"], &base, &slow),
        of(&["--fail-if-slower", "0.1", "--configuration", "system"], &base, &noisy),
        of(&[], &base, &elsewhere),
        of(&[], &base, &short),
        of(&[], &base, &failed),
        of(&[], &base, &empty),
        of(&["--configuration", "steal"], &base, &many[0]),
        of(&[], &many[0], &many[1]),
    ];
    let kinds = [
        "proven_better",
        "proven_worse",
        "nothing_proven",
        "below_floor",
        "too_few_units",
        "too_few",
        "no_values",
        "failed",
        "cut_off",
        "no_runs",
        "control",
    ];
    assert_eq!(all_words(&documents, "kind"), set(&kinds));
    assert_eq!(all_words(&documents, "basis"), set(&["figures", "gains"]));
    assert_eq!(all_words(&documents, "conclusion"), set(&["better", "worse", "nothing_proven", "failed"]));
    assert_eq!(all_words(&documents, "outcome"), set(&["kept", "exceeded", "unsure"]));
    for pointer in
        ["", "/before/0", "/figures/0", "/figures/0/verdict", "/figures/0/test", "/gains/0/before", "/gate"]
    {
        let mut planted = documents[0].clone();
        planted.pointer_mut(pointer).unwrap()["planted"] = json!(1);
        assert!(!schema::errors("compare", &planted).is_empty(), "{pointer}");
    }
}

#[test]
fn every_verdict_of_combine_keeps_to_the_schema() {
    let mut sessions = Sessions::new();
    let mut hosts = |gains: &[f64], again: f64| -> Vec<PathBuf> {
        let host = |(number, gain): (usize, &f64)| {
            sessions.store(|document| {
                document["machine"]["host"] = json!(format!("n{number}"));
                document["machine"]["processor"] = json!(format!("CPU {}", number % 2));
                scale(document, "adaptive", 1.0 / gain);
                scale(document, "system (again)", again);
            })
        };
        gains.iter().enumerate().map(host).collect()
    };
    let same = hosts(&[1.5, 1.6, 1.4, 1.5], 1.0);
    let mixed = hosts(&[2.0, 0.3, 2.1, 0.31, 1.9, 0.29], 1.0);
    let noisy = hosts(&[1.01, 1.02, 1.0, 1.01, 1.0, 1.02], 3.0);
    let documents = [
        sessions.document("combine", &["--hosts", "6"], &same),
        sessions.document("combine", &[], &mixed),
        sessions.document("combine", &[], &noisy),
        sessions.document("combine", &[], &same[..2]),
    ];
    let kinds = [
        "proven_faster",
        "proven_slower",
        "depends_on_host",
        "nothing_proven",
        "too_few_hosts",
        "not_significant",
        "below_floor",
    ];
    assert_eq!(all_words(&documents, "kind"), set(&kinds));
    assert_eq!(all_words(&documents, "side"), set(&["faster", "slower", "undecided"]));
    assert!(
        all_words(&documents, "sentence").iter().any(|sentence| sentence.starts_with("Grouped by processor"))
    );
    for pointer in
        ["", "/summary", "/hosts/0", "/candidates/0", "/candidates/0/verdict", "/candidates/0/combined"]
    {
        let mut planted = documents[1].clone();
        planted.pointer_mut(pointer).unwrap()["planted"] = json!(1);
        assert!(!schema::errors("combine", &planted).is_empty(), "{pointer}");
    }
}

/// Files are tried before anything is read, and none is written if a result is refused.
#[test]
fn combine_refuses_what_it_cannot_read_in_one_line() {
    let mut sessions = Sessions::new();
    let hosts = ["a", "b"].map(|name| sessions.store(|document| document["machine"]["host"] = json!(name)));
    let folder = sessions.folder.path();
    let other = folder.join("other.json");
    fs::write(&other, "{}").unwrap();
    let out = folder.join("out.json");
    let refused = |files: &[&Path], output: &Path| {
        let mut run = unspin(&["combine", "--json"]);
        let (printed, err, code) = finish(run.arg(output).args(files));
        assert_eq!((printed.as_str(), err.lines().count(), code), ("", 1, Some(2)), "{err}");
        err
    };
    assert!(refused(&[&hosts[0]], &out).contains("one result is no fleet"));
    assert!(refused(&[&hosts[0], &other], &out).contains("other.json: is not a result of unspin"));
    let missing = refused(&[&hosts[0], &folder.join("none")], &out);
    assert!(
        missing.contains(
            "none: No such file or directory (os error 2); name a file that `unspin prove` (--json"
        ),
        "{missing}"
    );
    assert!(!out.exists());
    assert!(refused(&[&hosts[0], &hosts[1]], &folder.join("no/out.json")).contains("--json"));
    let before = fs::read(&hosts[1]).unwrap();
    assert!(refused(&[&hosts[0], &hosts[1]], &hosts[1]).contains("a result is the same file: name another"));
    assert_eq!(fs::read(&hosts[1]).unwrap(), before);
    let compared = sessions.document("compare", &[], &hosts);
    fs::write(&other, compared.to_string()).unwrap();
    let wrong = refused(&[&hosts[0], &other], &out);
    assert!(
        wrong.contains("is a result of `unspin compare`: `unspin combine` reads those of `unspin prove`"),
        "{wrong}"
    );
}
