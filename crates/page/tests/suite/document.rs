//! The page is the archive.

use crate::cases::{every_kind, herd, page};
use serde_json::Value;

#[test]
fn page_contains_its_document() {
    for (name, document) in every_kind() {
        let page = page(name, &document);
        let embedded: Value = serde_json::from_str(&unspin_page::document(&page)).unwrap();
        assert_eq!(embedded, document, "{name}");
    }
}

#[test]
fn page_of_a_page_is_the_same_page() {
    for (name, document) in every_kind() {
        let first = page(name, &document);
        assert_eq!(unspin_page::page(&first).unwrap(), first, "{name}");
    }
}

#[test]
fn page_of_an_ordinary_session_is_below_300_kb() {
    let size = page("herd", &herd()).len();
    assert!(size < 300_000, "{size} bytes");
}

/// A server of which every run takes a second is measured 240 times in the default time budget.
#[test]
fn page_of_a_long_session_is_below_300_kb() {
    let mut document = herd();
    let runs = document["runs"].as_array().unwrap().clone();
    document["runs"] = runs.iter().cycle().take(240).cloned().collect();
    let page = page("long", &document);
    assert!(page.len() < 300_000, "{} bytes", page.len());
    assert_eq!(serde_json::from_str::<Value>(&unspin_page::document(&page)).unwrap(), document);
}
