//! Sessions of the same program on other days and hosts, compared and combined.

use crate::cases::{HOSTILE, herd, rename};
use serde_json::{Value, json};
use unspin_combine::{HostResult, combine};
use unspin_comparison::{CompareOptions, Session, compare};
use unspin_results::{StoredBuild, StoredProof, StoredResult};

/// A session on a quiet machine of this name, with this many times the wall time, in which `adaptive` is this many times as good as
/// it was.
pub fn session(host: &str, slower: f64, gain: f64) -> Value {
    let mut document = herd();
    document["machine"]["host"] = json!(host);
    document["disturbance"]["others_s"] = json!(0.0);
    document["elapsed_s"] = json!(23.0 + slower + gain / 100.0);
    scale(&mut document["analysis"]["control_runs"], slower);
    scale(&mut document["no_preload"]["runs"], slower);
    for comparison in document["analysis"]["comparisons"].as_array_mut().unwrap() {
        let times = if comparison["name"] == "adaptive" { slower / gain } else { slower };
        scale(&mut comparison["runs"], times);
    }
    for run in document["runs"].as_array_mut().unwrap() {
        run["started_s"] = json!(run["started_s"].as_f64().unwrap() + slower + gain);
    }
    document
}

fn scale(runs: &mut Value, times: f64) {
    for run in runs.as_array_mut().unwrap() {
        if let Some(value) = run["value"].as_f64() {
            run["value"] = json!(value * times);
        }
    }
}

fn proof(document: &Value) -> StoredProof {
    match StoredResult::parse(&document.to_string()) {
        Ok(StoredResult::Proof(proof)) => *proof,
        other => panic!("{other:?}"),
    }
}

fn build() -> StoredBuild {
    StoredBuild { version: "0.1.0".into(), commit: "0123456789ab".into() }
}

/// The document of `unspin compare`.
pub fn compared(before: &[Value], after: &[Value], options: &CompareOptions) -> Value {
    let side = |documents: &[Value], side: &str| -> Vec<Session> {
        let session =
            |(number, document)| Session { file: format!("{side}{number}.json"), proof: proof(document) };
        documents.iter().enumerate().map(session).collect()
    };
    let result = compare(&side(before, "before"), &side(after, "after"), options, build()).unwrap();
    serde_json::to_value(result).unwrap()
}

/// A program that became slower, under a gate.
pub fn slower() -> Value {
    let gate = CompareOptions { fail_if_slower: Some(0.05), ..CompareOptions::default() };
    compared(&[session("example", 1.0, 1.0)], &[session("example", 3.0, 1.0)], &gate)
}

/// The document of `unspin combine`, of hosts with these gains of `adaptive`.
pub fn combined(gains: &[f64]) -> Value {
    let host = |(number, gain): (usize, &f64)| {
        let mut document = session(&format!("n{number}"), 1.0 + 0.1 * number as f64, *gain);
        if number % 2 == 1 {
            document["machine"]["processor"] = json!("Slow CPU");
        }
        HostResult::new(format!("n{number}.json"), proof(&document))
    };
    let hosts = gains.iter().enumerate().map(host).collect();
    serde_json::to_value(combine(hosts, Some(gains.len() as u32 + 1), build()).unwrap()).unwrap()
}

/// A document in which names are hostile.
pub fn hostile(mut document: Value) -> Value {
    let names = ["adaptive", "example", "no preload", "steal", "fair", "n0"];
    for (name, hostile) in names.into_iter().zip(HOSTILE) {
        rename(&mut document, name, hostile);
    }
    spoil("", &mut document);
    document["command"] = json!([HOSTILE[0], HOSTILE[1]]);
    document["metric"]["unit"] = json!(HOSTILE[0]);
    document["metric"]["name"] = json!(HOSTILE[1]);
    document["control"] = json!(HOSTILE[3]);
    document
}

/// Adds a script to every text but those that a reader of the document distinguishes.
fn spoil(field: &str, value: &mut Value) {
    const WORDS: [&str; 10] = [
        "schema",
        "kind",
        "conclusion",
        "basis",
        "outcome",
        "direction",
        "quantity",
        "side",
        "method",
        "per",
    ];
    match value {
        Value::String(text) if !WORDS.contains(&field) => text.push_str(HOSTILE[0]),
        Value::Array(values) => values.iter_mut().for_each(|value| spoil(field, value)),
        Value::Object(fields) => fields.iter_mut().for_each(|(field, value)| spoil(field, value)),
        _ => {}
    }
}
