//! The published JSON Schemas. Tests of each command check what it writes (`schema::read`); these are about the schemas themselves.

use crate::common::schema::{self, NAMES, errors, errors_as_published};
use crate::common::{finish, unspin};
use serde_json::{Value, json};
use std::fs;

/// Every schema in the text of a schema: the text itself, and those within it.
fn parts<'s>(schema: &'s Value, found: &mut Vec<&'s Value>) {
    found.push(schema);
    match schema {
        Value::Object(fields) => fields.values().for_each(|value| parts(value, found)),
        Value::Array(all) => all.iter().for_each(|value| parts(value, found)),
        _ => {}
    }
}

#[test]
fn schemas_are_well_formed_and_all_of_them_are_known() {
    let folder = schema::file("prove").parent().unwrap().to_owned();
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<String> =
        files.map(|file| file.file_stem().unwrap().to_string_lossy().into()).collect();
    let mut names = NAMES.to_vec();
    files.sort();
    names.sort_unstable();
    assert_eq!(files, names);
    for name in names {
        let text = fs::read_to_string(schema::file(name)).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        assert!(jsonschema::meta::is_valid(&schema), "{name}");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        let mut all = Vec::new();
        parts(&schema, &mut all);
        for part in all {
            // What is required is described.
            let Some(required) = part.get("required").and_then(Value::as_array) else { continue };
            let Some(properties) = part.get("properties") else { continue };
            for field in required {
                assert!(properties.get(field.as_str().unwrap()).is_some(), "{name}: {field} of {part}");
            }
        }
    }
}

/// A document, and the place of an object in it.
fn with_field(document: &Value, pointer: &str) -> Value {
    let mut document = document.clone();
    document.pointer_mut(pointer).unwrap()["planted"] = json!(1);
    document
}

#[test]
fn field_without_its_line_in_the_schema_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prove.json");
    let script = "import threading\nlock = threading.Lock()\nlock.acquire()\n";
    let options = ["prove", "--runs", "6", "--waits", "poll", "--json", file.to_str().unwrap()];
    let (out, err, _) =
        finish(&mut unspin(&[&options[..], &["--", "/usr/bin/python3", "-c", script]].concat()));
    assert!(file.exists(), "{out}{err}");
    let document: Value = schema::read("prove", &file);
    for pointer in [
        "",
        "/machine",
        "/analysis",
        "/analysis/comparisons/0",
        "/analysis/comparisons/0/verdict",
        "/analysis/control_runs/0",
        "/candidates/0/cpu",
        "/runs/0",
        "/runs/0/disturbance",
        "/locks",
        "/locks/metered/0",
        "/locks/metered/0/report",
        "/locks/metered/0/report/total",
        "/locks/metered/0/report/waits/0/callers/0",
    ] {
        assert!(!errors("prove", &with_field(&document, pointer)).is_empty(), "{pointer}");
    }
    // What earlier builds did not write is not required of their documents, but of this one.
    for (object, field) in [
        ("", "summary"),
        ("/summary", "evidence"),
        ("/summary", "why"),
        ("/candidates/0", "run_queue"),
        ("/disturbance", "throttling"),
        ("/analysis/noise_floor", "coefficients_of_variation"),
    ] {
        let mut older = document.clone();
        older.pointer_mut(object).unwrap().as_object_mut().unwrap().remove(field).unwrap();
        assert!(!errors("prove", &older).is_empty(), "{object}/{field}");
        assert_eq!(errors_as_published("prove", &older), Vec::<String>::new(), "{object}/{field}");
    }
    let mut document = document;
    document["rounds"] = json!("six");
    assert!(!errors("prove", &document).is_empty());
    document.as_object_mut().unwrap().remove("rounds");
    assert!(!errors("prove", &document).is_empty());
}

/// The examples of the documents.
#[test]
fn examples_in_documents_keep_to_their_schema() {
    let text = fs::read_to_string(schema::file("locks").with_file_name("../locks-json.md")).unwrap();
    let examples: Vec<&str> =
        text.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(examples.len(), 1);
    let example: Value = schema::parse("locks", examples[0]);
    assert!(!errors("locks", &with_field(&example, "/locks/0/uses/0")).is_empty());
    assert!(!errors("locks", &with_field(&example, "/locks/0/holds/0")).is_empty());
    assert!(!errors("locks", &with_field(&example, "/processes/0")).is_empty());
}
