//! Sessions that went wrong, and extreme figures.

use crate::cases::{all, around_document, herd, page, rename, shown, text};
use scraper::Html;
use serde_json::{Value, json};

/// The session without a complete round: so many runs are left.
fn cut_short(runs: usize) -> Value {
    let mut document = herd();
    document["runs"].as_array_mut().unwrap().truncate(runs);
    document["rounds"] = json!(0);
    document["interrupted"] = json!(true);
    document["conclusion"] = json!("nothing_proven");
    document["no_preload"] = Value::Null;
    document["plan"] = Value::Null;
    document["locks"] =
        json!({"metered": [], "missing": ["The run under adaptive was not metered: ^C came before."]});
    let analysis = &mut document["analysis"];
    for field in ["control_summary", "noise_floor", "noise_floor_sentence", "stop", "advice"] {
        analysis[field] = Value::Null;
    }
    for comparison in analysis["comparisons"].as_array_mut().unwrap() {
        for field in [
            "summary",
            "ratio",
            "difference",
            "difference_p_corrected",
            "minimum_detectable_effect",
            "spread",
            "cpu",
        ] {
            comparison[field] = Value::Null;
        }
        comparison["rounds"] = json!(0);
        comparison["runs"] = json!([]);
    }
    document["summary"] = json!({"proven": "nothing, because no round was complete.", "next": []});
    document
}

#[test]
fn session_without_a_round_has_a_page() {
    for runs in [0, 1, 5] {
        let page = shown(&format!("runs-{runs}"), &cut_short(runs));
        assert_eq!(text(all(&page, "h1")[0]), "Nothing is proven, because no round was complete.");
        assert!(text(all(&page, "header")[0]).contains("Interrupted"));
        assert_eq!(all(&page, "#runs-picture .mark").len(), runs);
    }
}

#[test]
fn control_that_failed_is_shown_with_its_output() {
    let mut document = cut_short(3);
    document["conclusion"] = json!("failed");
    for run in document["runs"].as_array_mut().unwrap() {
        run["value"] = Value::Null;
        run["failure"] = json!("it ended with exit code 1");
        run["output_tail"] = json!("cannot open <database>\n");
    }
    let page = shown("failed", &document);
    let failures = text(all(&page, "#failures")[0]);
    assert!(
        failures.contains("it ended with exit code 1") && failures.contains("cannot open <database>"),
        "{failures}"
    );
    assert!(text(all(&page, ".badge")[0]).contains("Failed"));
    assert_eq!(all(&page, "#runs-picture path.stroke").len(), 3);
}

#[test]
fn extreme_ratios_stay_within_the_picture() {
    let mut document = herd();
    let ratios = [(1e-3, 9e-4, 1.1e-3), (1e3, 20.0, 1e5), (1.0, 1e-300, 1e300), (1e-9, 1e-10, 1e-8)];
    let comparisons = document["analysis"]["comparisons"].as_array_mut().unwrap();
    for (comparison, (value, lower, upper)) in comparisons.iter_mut().zip(ratios) {
        comparison["ratio"] = json!({"value": value, "lower": lower, "upper": upper});
        comparison["rounds"] = json!(14);
    }
    let page = shown("extreme", &document);
    for line in all(&page, "#ratios-picture line.stroke") {
        for end in ["x1", "x2"] {
            let x: f64 = line.attr(end).unwrap().parse().unwrap();
            assert!((200.0..=566.0).contains(&x), "{x}");
        }
    }
}

#[test]
fn long_names_are_whole_in_tables_and_short_in_pictures() {
    let mut document = herd();
    let long = "very_long_name_".repeat(14);
    rename(&mut document, "adaptive", &long);
    let page = shown("long", &document);
    assert!(all(&page, "#ratios tbody th").into_iter().any(|head| text(head) == long));
    assert!(
        all(&page, "#ratios-picture svg > text").into_iter().all(|label| text(label).chars().count() <= 40)
    );
}

#[test]
fn older_document_without_summary_has_a_page() {
    let mut document = herd();
    document.as_object_mut().unwrap().remove("summary");
    let page = shown("older", &document);
    assert_eq!(
        text(all(&page, "h1")[0]),
        "adaptive: proven better; fair: proven worse; mcs: collapsed, stopped; steal: nothing proven"
    );
}

#[test]
fn many_runs_and_locks_are_cut_with_a_note() {
    let mut document = herd();
    let runs = document["runs"].as_array().unwrap().clone();
    document["runs"] = runs.iter().cycle().take(10_000).cloned().collect();
    for table in document["locks"]["metered"].as_array_mut().unwrap() {
        let lock = table["report"]["locks"][0].clone();
        let named = |i: usize| {
            let mut lock = lock.clone();
            lock["name"] = json!(format!("lock_{i}"));
            lock
        };
        table["report"]["locks"] = (0..1000).map(named).collect();
    }
    // A candidate without a run has no line.
    document["runs"].as_array_mut().unwrap().retain(|run| run["candidate"] != 2);
    let page = page("many", &document);
    assert!(!page.contains("d=\"Mh0"), "a path without points");
    let shown: usize = around_document(&page).map(str::len).iter().sum();
    assert!(shown < 900_000, "{shown} bytes without the document");
    assert!(text(all(&Html::parse_document(&page), "#runs caption")[0]).contains("the first 600 of "));
}
