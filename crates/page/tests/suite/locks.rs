//! The sections about locks: of two runs that are compared, and of locks whose holders are not recorded.

use crate::cases::{all, herd, meter, rename, rows_of, shown, table, text};
use serde_json::{Value, json};
use std::collections::HashSet;

/// A session in which the second metered run is the first one, on a clock that was calibrated apart.
fn twice(calibration: f64) -> Value {
    fn stretch(value: &mut Value, factor: f64) {
        match value {
            Value::Object(fields) => fields.iter_mut().for_each(|(field, value)| match value.as_f64() {
                Some(seconds) if field == "from" || field == "below" => *value = json!(seconds * factor),
                _ => stretch(value, factor),
            }),
            Value::Array(values) => values.iter_mut().for_each(|value| stretch(value, factor)),
            _ => {}
        }
    }
    let mut document = herd();
    let before = document["locks"]["metered"][0].clone();
    let mut after = before.clone();
    after["candidate"] = document["locks"]["metered"][1]["candidate"].clone();
    stretch(&mut after["report"], calibration);
    document["locks"]["metered"] = json!([before, after]);
    document
}

#[test]
fn ranges_of_both_runs_share_a_row() {
    let document = twice(1.000_000_7);
    let page = shown("twice", &document);
    let rows = rows_of(table(&page, "Holds and waits by their length"));
    let locks = document["locks"]["metered"][0]["report"]["locks"].as_array().unwrap();
    let number =
        |lock: &Value| ["holds", "waits"].map(|of| lock[of].as_array().unwrap().len()).iter().sum::<usize>();
    assert_eq!(rows.len(), locks.iter().map(number).sum::<usize>());
    for (head, cells) in &rows {
        assert_eq!(cells[3], cells[4], "{head}");
        assert!(cells[3] > Some(0.0), "{head}");
    }
}

#[test]
fn number_is_not_known_where_the_ranges_of_a_run_lie_across() {
    let page = shown("across", &twice(1.4));
    let rows = rows_of(table(&page, "Holds and waits by their length"));
    let zero = rows.iter().find(|(_, cells)| cells[3] == Some(0.0) && cells[4] == Some(0.0));
    assert_eq!(zero, None);
    assert!(rows.iter().any(|(_, cells)| cells[3].is_none() && cells[4].is_some()));
}

#[test]
fn each_flame_graph_has_its_run_as_heading() {
    let page = shown("herd", &herd());
    let headings: Vec<String> = all(&page, "#locks h3, #locks h4").into_iter().map(text).collect();
    for graph in ["Flame graph of waiting for locks", "Flame graph of other waits"] {
        let at = headings.iter().position(|heading| heading == graph).unwrap();
        assert_eq!(headings[at + 1..at + 3], ["Before", "After"], "{headings:?}");
    }
}

/// In the font of the graph a letter has 0.6 em, of 11 px.
#[test]
fn names_fit_into_their_boxes() {
    let mut document = herd();
    rename(&mut document, "worker", &"WWW_python3+0x561a06".repeat(3));
    let page = shown("boxes", &document);
    let boxes = all(&page, ".icicle svg");
    assert!(boxes.len() > 4);
    for one in boxes {
        let width: f64 = one.attr("width").unwrap().parse().unwrap();
        let label = one.text().collect::<String>();
        assert!(3.0 + 6.6 * label.chars().count() as f64 <= width, "{label}: {width}");
    }
}

#[test]
fn unknown_holders_have_a_reason_and_no_picture() {
    let mut document = meter();
    for lock in document["locks"].as_array_mut().unwrap() {
        lock.as_object_mut().unwrap().remove("holders");
    }
    let page = shown("no-holders", &document);
    assert!(all(&page, "#blockers-picture").is_empty());
    let section = text(all(&page, "#locks")[0]);
    assert!(section.contains("No picture: of none of these locks a holder is recorded."), "{section}");
    let queue =
        all(&page, "#locks li").into_iter().map(text).find(|fact| fact.starts_with("queue_lock:")).unwrap();
    assert!(queue.contains("28 ms") && queue.contains("threads that wake up from a condition"), "{queue}");
    assert!(
        queue.contains("let go just when it was looked for") && queue.contains("Look at the call site with"),
        "{queue}"
    );
    let cache =
        all(&page, "#locks li").into_iter().map(text).find(|fact| fact.starts_with("cache_lock:")).unwrap();
    assert!(!cache.contains("condition"), "{cache}");
}

#[test]
fn picture_says_of_which_waits_no_holder_is_recorded() {
    let page = shown("meter", &meter());
    assert_eq!(all(&page, "#blockers-picture").len(), 1);
    let facts: HashSet<String> = all(&page, "#locks li").into_iter().map(text).collect();
    let queue = facts.iter().find(|fact| fact.starts_with("queue_lock: for waits of")).unwrap();
    assert!(
        queue.contains(
            "waits of 13 ms the holder is not recorded, because threads that wake up from a condition"
        ),
        "{queue}"
    );
    assert!(!facts.iter().any(|fact| fact.starts_with("cache_lock: for waits of")), "{facts:?}");
}

#[test]
fn more_time_lost_after_is_explained() {
    let mut document = twice(1.0);
    assert!(all(&shown("as-much", &document), "#locks .note").is_empty());
    let after = &mut document["locks"]["metered"][1]["report"];
    after["total"]["lost"] = json!(0.25);
    after["blocked"]["for_locks"] = json!(0.02);
    let page = shown("more-lost", &document);
    let note = text(all(&page, "#locks .note")[0]);
    assert!(
        note.starts_with("Threads lost more time for locks after (250 ms) than before (91 ms)."),
        "{note}"
    );
    assert!(note.contains("not time of the program"), "{note}");
    // 0.0914 + 0.0342 s before, 0.02 + 0.0342 s after.
    assert!(note.contains("fell from 126 ms to 54 ms"), "{note}");
    document["locks"]["metered"][1]["report"]["blocked"]["for_locks"] = json!(0.25);
    let note = text(all(&shown("more-waits", &document), "#locks .note")[0]);
    assert!(note.contains("costs the program nothing while other threads do the work"), "{note}");
}
