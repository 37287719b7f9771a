//! Documents, and the pages of them.

use crate::sessions;
use scraper::{ElementRef, Html, Selector};
use serde_json::{Value, json};
use std::path::Path;

/// A short session of `unspin prove` with four candidates: one better, one worse, one that collapsed, and one of which nothing is
/// proven.
const HERD: &str = include_str!("../documents/herd.json");

/// Names that break pages which do not escape.
pub const HOSTILE: [&str; 6] = [
    "</script><script>alert(1)</script>",
    "<!-- ]]> <img src=x onerror=alert(1)> & \"quoted\" 'name'",
    "\u{202e}override\u{202c}\u{2066}isolate",
    "\u{1b}[31mred\u{7}\u{0}\n\ttwo lines",
    "שלום مرحبا",
    "{{x}} ${y} `z` \\u003c",
];

/// The document of the session.
pub fn herd() -> Value {
    serde_json::from_str(HERD).unwrap()
}

/// The page of a document. `name` is its file's name in the folder `UNSPIN_PAGES`.
pub fn page(name: &str, document: &Value) -> String {
    let page = unspin_page::page(&serde_json::to_string_pretty(document).unwrap()).unwrap();
    if let Some(folder) = std::env::var_os("UNSPIN_PAGES") {
        std::fs::write(Path::new(&folder).join(format!("{name}.html")), &page).unwrap();
    }
    page
}

/// Documents of all kinds that are compared with their pages, with names as usual and hostile ones.
pub fn every_kind() -> Vec<(&'static str, Value)> {
    let (slower, combined) = (sessions::slower(), sessions::combined(&[1.5, 0.4, 1.6, 0.38, 1.4]));
    vec![
        ("herd", herd()),
        ("hostile", hostile()),
        ("compare", slower.clone()),
        ("hostile-compare", sessions::hostile(slower)),
        ("combine", combined.clone()),
        ("hostile-combine", sessions::hostile(combined)),
    ]
}

/// All elements that a CSS selector finds.
pub fn all<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    page.select(&Selector::parse(selector).unwrap()).collect()
}

/// The text of an element, with one space for all white space.
pub fn text(element: ElementRef<'_>) -> String {
    element.text().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces a name in all texts of a document.
pub fn rename(document: &mut Value, from: &str, to: &str) {
    match document {
        Value::String(text) => *text = text.replace(from, to),
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, from, to)),
        Value::Object(fields) => fields.values_mut().for_each(|value| rename(value, from, to)),
        _ => {}
    }
}

/// The session in which all names are hostile.
pub fn hostile() -> Value {
    let mut document = herd();
    for (name, hostile) in
        ["adaptive", "job_queue", "herd", "steal", "fair", "worker"].into_iter().zip(HOSTILE)
    {
        rename(&mut document, name, hostile);
    }
    document["machine"]["host"] = json!(HOSTILE[0]);
    document["analysis"]["metric"]["unit"] = json!(HOSTILE[0]);
    document["analysis"]["metric"]["name"] = json!(HOSTILE[1]);
    document["aborted"] = json!(HOSTILE[1]);
    document["runs"][3]["value"] = Value::Null;
    document["runs"][3]["failure"] = json!(HOSTILE[0]);
    document["runs"][3]["output_tail"] = json!(HOSTILE.join("\n"));
    document
}
