//! Numbers on the page are those of the document.

use crate::cases::{all, herd, page, rows_of, text};
use scraper::Html;
use serde_json::Value;

/// The rows of a section's first table: the head, and the exact values of the cells, of which some are unknown or words.
pub fn rows(page: &Html, section: &str) -> Vec<(String, Vec<Option<f64>>)> {
    rows_of(all(page, &format!("#{section} table"))[0])
}

fn number(document: &Value, pointer: &str) -> Option<f64> {
    document.pointer(pointer).unwrap_or_else(|| panic!("{pointer}")).as_f64()
}

#[test]
fn ratios_are_those_of_the_document() {
    let document = herd();
    let page = Html::parse_document(&page("herd", &document));
    let rows = rows(&page, "ratios");
    assert_eq!(rows.len(), document["candidates"].as_array().unwrap().len());
    let comparisons = document["analysis"]["comparisons"].as_array().unwrap().iter();
    for comparison in comparisons.chain([&document["no_preload"]]) {
        let name = comparison["name"].as_str().unwrap();
        let (_, cells) = rows.iter().find(|(head, _)| head.starts_with(name)).unwrap();
        let of = |pointer| comparison.pointer(pointer).and_then(Value::as_f64);
        let expected =
            ["/ratio/value", "/ratio/lower", "/ratio/upper", "/summary/mean", "/summary/standard_deviation"];
        assert_eq!(cells[1..6], expected.map(of), "{name}");
    }
    let control = &rows[0].1;
    assert_eq!(control[4], number(&document, "/analysis/control_summary/mean"));
}

#[test]
fn runs_are_those_of_the_document() {
    let document = herd();
    let page = Html::parse_document(&page("herd", &document));
    let rows = rows(&page, "runs");
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(rows.len(), runs.len());
    assert_eq!(document["analysis"]["metric"]["quantity"], "wall_time", "the value is the wall time");
    for ((_, cells), run) in rows.iter().zip(runs) {
        let of = |field: &str| run[field].as_f64();
        let cpu = of("user_s").unwrap() + of("system_s").unwrap();
        assert_eq!(cells[1..5], [of("round"), of("started_s"), of("elapsed_s"), Some(cpu)]);
    }
    let (measured, failed) = (
        runs.iter().filter(|run| run["value"].is_number()).count(),
        all(&page, "#runs-picture path.stroke").len(),
    );
    assert_eq!(all(&page, "#runs-picture .mark").len(), measured);
    assert_eq!(failed, runs.len() - measured);
}

#[test]
fn cpu_times_are_those_of_the_document() {
    let document = herd();
    let page = Html::parse_document(&page("herd", &document));
    for (head, cells) in rows(&page, "cpu") {
        let named = |candidate: &&Value| candidate["name"].as_str() == Some(&head);
        let candidate = document["candidates"].as_array().unwrap().iter().find(named).unwrap();
        let fields = [
            "wall_s",
            "cpu_s",
            "user_percent",
            "system_percent",
            "idle_percent",
            "voluntary_switches",
            "involuntary_switches",
        ];
        assert_eq!(cells[..7], fields.map(|field| candidate["cpu"][field].as_f64()), "{head}");
    }
}

#[test]
fn verdict_and_commands_are_those_of_the_printed_report() {
    let document = herd();
    let page = Html::parse_document(&page("herd", &document));
    assert_eq!(text(all(&page, "h1")[0]), document["summary"]["proven"].as_str().unwrap());
    let header = text(all(&page, "header")[0]);
    for field in ["how_sure", "compared", "apply", "repeat"] {
        assert!(header.contains(document["summary"][field].as_str().unwrap()), "{field}: {header}");
    }
    let place = text(all(&page, "#place")[0]);
    for pointer in ["/machine/processor", "/machine/kernel", "/machine/host", "/unspin/commit"] {
        assert!(place.contains(document.pointer(pointer).unwrap().as_str().unwrap()), "{pointer}: {place}");
    }
    assert!(place.contains(&document["analysis"]["seed"].to_string()));
}
