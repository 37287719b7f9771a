//! Documents, and the pages of them.

use crate::{prove, sessions};
use scraper::{ElementRef, Html, Selector};
use serde_json::{Value, json};
use std::path::Path;

/// A short session of `unspin prove` with four candidates: one better, one worse, one that collapsed, and one of which nothing is
/// proven.
const HERD: &str = include_str!("../documents/herd.json");
/// A run of `unspin meter`: mutexes, a read-write lock, a condition, joins.
const METER: &str = include_str!("../documents/meter.json");
/// A run of `unspin meter --lens futex,off-cpu,kernel`.
const LENSES: &str = include_str!("../documents/lenses.json");
/// A session of `unspin scale` on two CPUs, with one candidate.
const SCALE: &str = include_str!("../documents/scale.json");

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

/// The document of the metered run.
pub fn meter() -> Value {
    serde_json::from_str(METER).unwrap()
}

/// The document of the lenses.
pub fn lenses() -> Value {
    serde_json::from_str(LENSES).unwrap()
}

/// The document of the session on several numbers of CPUs.
pub fn scale() -> Value {
    serde_json::from_str(SCALE).unwrap()
}

/// What stands before the document in a page, and behind it.
pub fn around_document(page: &str) -> [&str; 2] {
    let (before, rest) = page.split_once("<script").unwrap();
    [before, rest.split_once("</script>").unwrap().1]
}

/// The page of a document, parsed; no number on it is infinite or none.
pub fn shown(name: &str, document: &Value) -> Html {
    let page = page(name, document);
    assert!(!page.contains("NaN") && !page.contains(">inf"), "{name}");
    Html::parse_document(&page)
}

/// The finding that a page leads with.
pub fn lead(page: &Html) -> String {
    text(all(page, "header .lead")[0])
}

/// Documents of all kinds that are compared with their pages, with names as usual and hostile ones.
pub fn every_kind() -> Vec<(&'static str, Value)> {
    let (slower, combined) = (sessions::slower(), sessions::combined(&[1.5, 0.4, 1.6, 0.38, 1.4]));
    vec![
        ("herd", herd()),
        ("hostile", hostile()),
        ("explained", prove::explained()),
        ("nothing-to-try", prove::nothing_to_try()),
        ("meter", meter()),
        ("hostile-meter", renamed(meter())),
        ("lenses", lenses()),
        ("hostile-lenses", renamed(lenses())),
        ("scale", scale()),
        ("hostile-scale", renamed(scale())),
        ("compare", slower.clone()),
        ("hostile-compare", sessions::hostile(slower)),
        ("combine", combined.clone()),
        ("hostile-combine", sessions::hostile(combined)),
    ]
}

/// A document in which names of locks, call sites, programs and configurations are hostile.
fn renamed(mut document: Value) -> Value {
    let names = [
        ("cache_lock", 0),
        ("cache_lookup", 1),
        ("cache_insert", 2),
        ("queue_lock", 3),
        ("jobs", 4),
        ("filled", 5),
        ("table_lock", 2),
        ("consumer", 0),
        ("__lll_lock_wait", 3),
        ("futex", 2),
        ("adaptive", 2),
        ("system", 3),
        ("wall time", 1),
    ];
    for (name, hostile) in names {
        rename_values(&mut document, name, HOSTILE[hostile]);
    }
    document["machine"]["host"] = json!(HOSTILE[0]);
    document
}

/// The page of a document. `name` is its file's name in the folder `UNSPIN_PAGES`.
pub fn page(name: &str, document: &Value) -> String {
    let page = unspin_page::page(&serde_json::to_string_pretty(document).unwrap()).unwrap();
    if let Some(folder) = std::env::var_os("UNSPIN_PAGES") {
        std::fs::write(Path::new(&folder).join(format!("{name}.html")), &page).unwrap();
    }
    page
}

/// All elements that a CSS selector finds.
pub fn all<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    page.select(&Selector::parse(selector).unwrap()).collect()
}

/// The text of an element, with one space for all white space.
pub fn text(element: ElementRef<'_>) -> String {
    element.text().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The exact value that a cell of a table shows; none if it has words, or is not known.
pub fn exact(cell: ElementRef<'_>) -> Option<f64> {
    let data = cell.child_elements().find(|child| child.value().name() == "data")?;
    data.attr("value")?.parse().ok()
}

/// The rows of a table: the head, and the exact values of the cells.
pub fn rows_of(table: ElementRef<'_>) -> Vec<(String, Vec<Option<f64>>)> {
    let rows = Selector::parse("tbody tr").unwrap();
    let row = |row: ElementRef<'_>| {
        let mut cells = row.child_elements();
        (text(cells.next().unwrap()), cells.map(exact).collect())
    };
    table.select(&rows).map(row).collect()
}

/// The table with this caption.
pub fn table<'a>(page: &'a Html, caption: &str) -> ElementRef<'a> {
    let captioned = all(page, "caption").into_iter().find(|element| text(*element).starts_with(caption));
    ElementRef::wrap(captioned.unwrap_or_else(|| panic!("{caption}")).parent().unwrap()).unwrap()
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

/// Replaces a name in all texts of a document but those that are one of a few known words.
fn rename_values(document: &mut Value, from: &str, to: &str) {
    match document {
        Value::Object(fields) => {
            let free = fields.iter_mut().filter(|(field, _)| *field != "kind");
            free.for_each(|(_, value)| rename_values(value, from, to));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename_values(value, from, to)),
        _ => rename(document, from, to),
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
