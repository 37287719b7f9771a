//! The pages of `unspin compare` and `unspin combine`.

use crate::cases::{all, page, text};
use crate::sessions::{combined, compared, session, slower};
use crate::values::rows;
use scraper::Html;
use serde_json::{Value, json};
use unspin_comparison::CompareOptions;

fn shown(name: &str, document: &Value) -> Html {
    let page = page(name, document);
    assert!(!page.contains("NaN") && !page.contains(">inf"), "{name}");
    Html::parse_document(&page)
}

#[test]
fn figures_and_gains_are_those_of_the_document() {
    let document = slower();
    let page = shown("compare", &document);
    for (section, sides) in
        [("figures", &["summary/mean", "summary/standard_deviation"][..]), ("gains", &["value"])]
    {
        let rows = rows(&page, section);
        let compared = document[section].as_array().unwrap();
        assert_eq!(rows.len(), compared.len(), "{section}");
        for ((head, cells), compared) in rows.iter().zip(compared) {
            assert!(head.starts_with(compared["name"].as_str().unwrap()), "{head}");
            let of = |pointer: &str| compared.pointer(pointer).and_then(Value::as_f64);
            let half = if section == "figures" { 2 } else { 3 };
            for (side, first) in [("before", 5), ("after", 5 + half)] {
                for (at, pointer) in sides.iter().enumerate() {
                    assert_eq!(
                        cells[first + at],
                        of(&format!("/{side}/{pointer}")),
                        "{head} {side} {pointer}"
                    );
                }
            }
            let tested =
                ["/test/ratio/value", "/test/ratio/lower", "/test/ratio/upper", "/p_corrected"].map(of);
            assert_eq!(cells[1..5], tested, "{head}");
        }
    }
    assert_eq!(text(all(&page, "h1")[0]), document["sentence"].as_str().unwrap());
    let header = text(all(&page, "header")[0]);
    for pointer in ["/certainty", "/compared", "/limit", "/gate/sentence"] {
        let sentence = document.pointer(pointer).unwrap().as_str().unwrap().replace('`', "");
        assert!(header.contains(&sentence), "{pointer}: {header}");
    }
    assert!(text(all(&page, ".badge")[0]).contains("Slower than the limit permits"));
    let band = all(&page, "#figures-picture .band").len();
    assert_eq!(band, 1, "the floor is drawn");
}

/// How many marks are drawn: every run of both sides. The collapsed candidate has none.
#[test]
fn every_run_of_both_sides_is_a_dot() {
    let document = slower();
    let page = shown("compare", &document);
    let runs = |side: &str| -> usize {
        let figures = document["figures"].as_array().unwrap().iter();
        let sessions = figures.filter_map(|figure| figure[side]["sessions"].as_array());
        sessions.flatten().map(|session| session.as_array().unwrap().len()).sum()
    };
    let (before, after) = (runs("before"), runs("after"));
    assert!(before >= 14 && after >= 14);
    assert_eq!(all(&page, "#runs-picture svg .mark").len(), before + after);
}

#[test]
fn sessions_of_two_machines_have_gains_only() {
    let elsewhere = session("another", 7.0, 4.0);
    let document = compared(&[session("example", 1.0, 1.0)], &[elsewhere], &CompareOptions::default());
    let page = shown("compare-machines", &document);
    assert!(all(&page, "#figures, #runs").is_empty());
    assert!(text(all(&page, "h1")[0]).starts_with("The gain of adaptive over system is larger"));
    assert!(text(all(&page, "#place")[0]).contains("The sessions differ in host."));
    assert!(text(all(&page, "#warnings")[0]).contains("host example and another"));
    let gains = text(all(&page, "#gains")[0]);
    assert!(gains.contains("as good as system (the program as it is) of the same session"), "{gains}");
}

#[test]
fn several_sessions_and_failed_runs_have_a_page() {
    let side = |slower: f64| -> Vec<Value> {
        (0..3).map(|n| session("example", slower + 0.01 * f64::from(n), 1.0)).collect()
    };
    let page = shown("compare-several", &compared(&side(1.0), &side(1.5), &CompareOptions::default()));
    assert_eq!(all(&page, "#place tbody tr").len(), 6);
    let mut broken = session("example", 1.0, 1.0);
    broken["analysis"]["control_runs"][3] =
        json!({"elapsed_s": 0.1, "cpu_s": 0.1, "outcome": "failed", "reason": "exit code 1"});
    let page = shown("compare-failed", &compared(&side(1.0)[..1], &[broken], &CompareOptions::default()));
    assert!(text(all(&page, ".badge")[0]).contains("Failed"));
    assert!(text(all(&page, "#figures")[0]).contains("1 of 15 runs failed after (first: exit code 1)"));
}

#[test]
fn hosts_and_mean_are_those_of_the_document() {
    let document = combined(&[1.5, 1.52, 1.48, 1.51]);
    let page = shown("combine", &document);
    let candidates = document["candidates"].as_array().unwrap();
    let adaptive = candidates.iter().find(|candidate| candidate["name"] == "adaptive").unwrap();
    let rows = rows(&page, "candidates");
    let hosts = adaptive["hosts"].as_array().unwrap();
    assert_eq!(rows.len(), hosts.len() + 2, "the mean and a further host");
    let fields = ["/rounds", "/ratio/value", "/ratio/lower", "/ratio/upper", "/weight", "/p_corrected"];
    for ((head, cells), host) in rows.iter().zip(hosts) {
        let name = &document["hosts"][host["host"].as_u64().unwrap() as usize]["name"];
        assert_eq!(head, name.as_str().unwrap());
        assert_eq!(cells[..6], fields.map(|pointer| host.pointer(pointer).and_then(Value::as_f64)), "{head}");
    }
    let of = |pointer: &str| adaptive.pointer(pointer).and_then(Value::as_f64);
    let mean = ["/combined/ratio/value", "/combined/ratio/lower", "/combined/ratio/upper"].map(of);
    assert_eq!(rows[hosts.len()].1[1..4], mean);
    let further = [None, of("/combined/prediction/lower"), of("/combined/prediction/upper")];
    assert_eq!(rows[hosts.len() + 1].1[1..4], further);
    assert_eq!(text(all(&page, "h1")[0]), adaptive["sentence"].as_str().unwrap());
    let header = text(all(&page, "header")[0]);
    for sentence in ["certainty", "sentence"].map(|field| adaptive[field].as_str().unwrap()) {
        assert!(header.contains(sentence), "{sentence}: {header}");
    }
    assert!(header.contains("1 of 5 hosts failed: 1 host wrote no result."), "{header}");
    let diamonds = all(&page, "#candidate-0-picture polygon.mark.s0").len();
    assert_eq!(diamonds, 1);
}

#[test]
fn effect_that_depends_on_the_host_is_shown_by_group() {
    let document = combined(&[1.5, 0.4, 1.6, 0.38, 1.4, 0.41, 1.55, 0.4]);
    let page = shown("combine-depends", &document);
    let section = text(all(&page, "#candidates")[0]);
    assert!(section.contains("Grouped by processor: this explains"), "{section}");
    assert!(section.contains("Slow CPU") && section.contains("n1, n3, n5, n7"), "{section}");
}

#[test]
fn fleet_of_many_hosts_is_cut_in_the_picture_only() {
    let mut document = combined(&[1.5, 1.6]);
    let host = document["candidates"][0]["hosts"][0].clone();
    document["candidates"][0]["hosts"] = json!(vec![host; 300]);
    let page = shown("combine-many", &document);
    let section = all(&page, "#candidates")[0];
    assert!(text(section).contains("The picture leaves out 262 hosts"), "{}", text(section));
}

/// A reader who has seen the page of `prove` knows the marks.
#[test]
fn configurations_have_the_marks_of_their_own_pages() {
    let marks = |page: &Html, legend: &str| -> std::collections::BTreeMap<String, String> {
        let items = all(page, legend).into_iter();
        let mark = |item: scraper::ElementRef<'_>| {
            let selector = scraper::Selector::parse(".mark").unwrap();
            let mark = item.select(&selector).next().unwrap();
            let shape = ["points", "d", "r"].map(|field| mark.attr(field).unwrap_or_default());
            (text(item), format!("{} {} {shape:?}", mark.value().name(), mark.attr("class").unwrap()))
        };
        items.map(mark).collect()
    };
    let before = session("example", 1.0, 1.0);
    let proof = marks(&shown("session", &before), "#runs .legend li");
    let compared = shown("compare", &slower());
    let compared_marks = marks(&compared, "#runs .legend li");
    assert!(compared_marks.len() > 2, "{compared_marks:?}");
    for (name, mark) in &compared_marks {
        assert_eq!(proof.get(name), Some(mark), "{name}: {proof:?}");
    }
    let figures = text(all(&compared, "#figures")[0]);
    assert!(figures.contains("the program as it is: gains are over it"), "{figures}");
    assert!(figures.contains("can be proven only if") && !figures.contains("is real"), "{figures}");
}
