//! The published JSON Schemas of what unspin writes, in docs/schema.
//!
//! A published schema accepts fields that it does not name, because new ones may be added. Here each object is closed, so that a field
//! without its line in the schema is a failure; and what documents of earlier builds lack is required.

use jsonschema::{Retrieve, Uri};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// The schemas, by the names of their files.
pub const NAMES: [&str; 8] = ["prove", "locks", "scale", "compare", "combine", "doctor", "reproduce", "vm"];

/// Fields that were added without a new number of the format, by schema and object: documents of earlier builds, which are still
/// read, lack them.
const ADDED: [(&str, &str, &[&str]); 8] = [
    ("prove", "", &["service", "summary", "shortfall", "waits", "run_queues", "between_schedulers"]),
    ("prove", "/$defs/report_summary", &["evidence", "warnings", "why"]),
    ("prove", "/$defs/configuration_entry", &["run_queue", "scheduler", "kernel", "summary"]),
    ("prove", "/$defs/disturbance", &["throttling"]),
    ("prove", "/$defs/noise_floor", &["coefficients_of_variation"]),
    ("compare", "/$defs/judged", &["cpu"]),
    ("reproduce", "/$defs/report_entry", &["observations"]),
    ("vm", "", &["scheduler"]),
];

/// The file of a schema.
pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema").join(format!("{name}.json"))
}

/// Reads a document that unspin has written, and checks it against its schema.
pub fn read<T: DeserializeOwned>(name: &str, document: impl AsRef<Path>) -> T {
    let document = document.as_ref();
    parse(name, &fs::read_to_string(document).unwrap_or_else(|e| panic!("{}: {e}", document.display())))
}

/// The same for the text of a document.
pub fn parse<T: DeserializeOwned>(name: &str, text: &str) -> T {
    let document: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let errors = errors(name, &document);
    assert!(errors.is_empty(), "the JSON does not keep to docs/schema/{name}.json:\n{}", errors.join("\n"));
    serde_json::from_value(document).unwrap()
}

/// What is wrong with a document of this build.
pub fn errors(name: &str, document: &Value) -> Vec<String> {
    errors_by(&closed(name), document)
}

/// What is wrong with a document of any build, by the schema as it is published.
pub fn errors_as_published(name: &str, document: &Value) -> Vec<String> {
    errors_by(&published(name), document)
}

fn errors_by(schema: &Value, document: &Value) -> Vec<String> {
    let validator = jsonschema::options().with_retriever(Schemas).build(schema);
    let validator = validator.unwrap_or_else(|e| panic!("{}: {e}", schema["title"]));
    let errors = validator.iter_errors(document).map(|error| {
        let what: String = error.to_string().chars().take(600).collect();
        format!("{}: {what} ({})", error.instance_path(), error.schema_path())
    });
    errors.collect()
}

/// Finds the schemas to which others refer.
struct Schemas;

impl Retrieve for Schemas {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        let name = uri.path().as_str().trim_start_matches('/').trim_end_matches(".json");
        if NAMES.contains(&name) {
            Ok(closed(name))
        } else {
            Err(format!("{uri}: there is no such schema").into())
        }
    }
}

fn published(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(file(name)).unwrap()).unwrap()
}

/// A schema with all its objects closed, which requires what this build writes.
fn closed(name: &str) -> Value {
    let mut schema = published(name);
    for (_, object, fields) in ADDED.iter().filter(|(schema, ..)| *schema == name) {
        let required = schema.pointer_mut(object).unwrap()["required"].as_array_mut().unwrap();
        required.extend(fields.iter().map(|field| json!(field)));
    }
    close(&mut schema, Position::Whole);
    schema
}

/// Where in a schema another one is.
#[derive(Clone, Copy, PartialEq)]
enum Position {
    /// It describes a whole value.
    Whole,
    /// It describes some fields of an object: the place that puts it together with others is closed.
    Part,
}

fn close(schema: &mut Value, position: Position) {
    let Value::Object(fields) = schema else { return };
    for (keyword, value) in fields.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => each(properties, Position::Whole),
            // Each use of a definition is closed, but for the uses as a part.
            ("$defs", Value::Object(definitions)) => each(definitions, Position::Part),
            ("allOf" | "oneOf", Value::Array(parts)) => {
                parts.iter_mut().for_each(|part| close(part, Position::Part))
            }
            ("anyOf" | "prefixItems", Value::Array(all)) => {
                all.iter_mut().for_each(|one| close(one, Position::Whole))
            }
            ("then" | "else", part) => close(part, Position::Part),
            ("items" | "additionalProperties", value) => close(value, Position::Whole),
            _ => {}
        }
    }
    let has_fields =
        ["properties", "$ref", "allOf", "oneOf", "then"].iter().any(|keyword| fields.contains_key(*keyword));
    if position == Position::Whole && has_fields {
        fields.insert("unevaluatedProperties".into(), json!(false));
    }
}

fn each(schemas: &mut Map<String, Value>, position: Position) {
    schemas.values_mut().for_each(|schema| close(schema, position));
}
