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

/// A session in which the waits of these call sites are judged: those of the candidate of the second metered run.
fn judged(mut document: Value, sites: &[&str]) -> Value {
    let [before, after] = [0, 1].map(|run| document["locks"]["metered"][run]["candidate"].clone());
    let site = |name: &&str| json!({"name": name, "runs": [{"candidate": before}, {"candidate": after}]});
    document["waits"] = sites.iter().map(site).collect();
    document
}

/// A session in which no thread waits for a lock.
fn without_lost_time(mut document: Value) -> Value {
    fn clear(row: &mut Value) {
        row["nowait"] = row["attempts"].clone();
        for field in ["lost", "con", "wait_mean", "wait_max", "spin"] {
            row[field] = json!(0.0);
        }
        row["ceiling"] = json!(1.0);
    }
    for run in document["locks"]["metered"].as_array_mut().unwrap() {
        clear(&mut run["report"]["total"]);
        run["report"]["locks"].as_array_mut().unwrap().iter_mut().for_each(clear);
    }
    document
}

/// The first condition or semaphore of the session, and a call site that waits for it.
fn waiting_site(document: &Value) -> (String, String) {
    let waits = document["locks"]["metered"][0]["report"]["waits"].as_array().unwrap();
    let wait = waits.iter().rev().find(|wait| !wait["times"].as_array().unwrap().is_empty()).unwrap();
    let text = |value: &Value| value["name"].as_str().unwrap().to_owned();
    (text(wait), text(&wait["callers"][0]))
}

#[test]
fn judged_waits_come_first_with_their_lengths() {
    let document = twice(1.0);
    let (object, site) = waiting_site(&document);
    let headings = |page: &scraper::Html| -> Vec<String> {
        all(page, "#locks h2, #locks h3").into_iter().map(text).collect()
    };
    let locks_first = headings(&shown("locks-judged", &document));
    assert_eq!(locks_first[..3], ["The locks, before and after", "Locks", "Waits"]);
    let page = shown("waits-judged", &judged(document.clone(), &[&site]));
    let waits_first = headings(&page);
    assert_eq!(
        waits_first[..4],
        [
            "The waits and locks, before and after",
            "How long the judged waits were",
            "Waits",
            "Flame graph of other waits"
        ]
    );
    assert!(waits_first.contains(&"Locks".to_owned()) && waits_first.contains(&"Who blocks whom".to_owned()));
    let rows = rows_of(table(&page, "Waits for anything but locks"));
    assert!(rows[0].0.contains(&object) && rows[0].0.contains("judged"), "{}", rows[0].0);
    // The numbers are those of the call site.
    let wait = &document["locks"]["metered"][0]["report"]["waits"];
    let wait = wait.as_array().unwrap().iter().find(|wait| wait["name"] == object.as_str()).unwrap();
    let caller = &wait["callers"][0];
    let rows = rows_of(table(&page, "Judged waits by their length"));
    let of: Vec<&Vec<Option<f64>>> =
        rows.iter().filter(|(head, _)| head.contains(&site)).map(|row| &row.1).collect();
    for (range, cells) in caller["times"].as_array().unwrap().iter().zip(&of) {
        let count = range["count"].as_f64();
        assert_eq!(cells[1..], [range["from"].as_f64(), range["below"].as_f64(), count, count]);
    }
    let section = text(all(&page, "#locks")[0]);
    assert!(section.contains(&format!("before {} waits, ", caller["waits"])), "{section}");
    assert!(!all(&page, "#wait-lengths-picture svg .stroke").is_empty());
}

/// Issue 30: a page had a table, a picture of victims and culprits and a flame graph of one wait of 1.5 us.
#[test]
fn locks_that_cost_nothing_are_one_sentence() {
    let page = shown("no-lock-matters", &without_lost_time(twice(1.0)));
    assert!(all(&page, "#blockers-picture, #histograms-picture, #flame-locksbefore").is_empty());
    let section = text(all(&page, "#locks")[0]);
    assert!(
        section.contains("Locks cost next to nothing: threads waited 0 before and 0 after for all "),
        "{section}"
    );
    assert!(!section.contains("At most"), "{section}");
}

/// Try-locks that were refused lose no time, and a lock that is refused 12,000 times matters.
#[test]
fn refused_attempts_have_a_row() {
    let mut document = without_lost_time(twice(1.0));
    let lock = &mut document["locks"]["metered"][0]["report"]["locks"][1];
    lock["nowait"] = json!(0);
    let (name, attempts) = (lock["name"].as_str().unwrap().to_owned(), lock["attempts"].clone());
    document["locks"]["metered"][0]["report"]["total"]["nowait"] = json!(0);
    let page = shown("refused", &document);
    let rows = rows_of(table(&page, "Locks, most time lost first"));
    let heads: Vec<&String> = rows.iter().map(|(head, _)| head).collect();
    assert!(heads.iter().any(|head| head.contains(&name)), "{attempts} {name}: {heads:?}");
    let locks: u64 = document["locks"]["metered"][0]["report"]["locks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lock| lock["locks"].as_u64().unwrap())
        .sum();
    let section = text(all(&page, "#locks")[0]);
    assert!(
        section.contains(&format!("{} locks, for which no thread waited", locks - 1))
            || section.contains("1 lock, for which no thread waited"),
        "{locks}: {section}"
    );
}

#[test]
fn time_lost_under_a_worse_candidate_has_no_excuse() {
    let mut document = twice(1.0);
    let after = &mut document["locks"]["metered"][1]["report"];
    after["total"]["lost"] = json!(0.25);
    let name = document["locks"]["metered"][1]["candidate"].clone();
    let comparisons = document["analysis"]["comparisons"].as_array_mut().unwrap();
    let shown_one = comparisons.iter_mut().find(|comparison| comparison["name"] == name).unwrap();
    shown_one["verdict"] =
        json!({"kind": "proven_slower", "ratio": {"value": 0.5, "lower": 0.4, "upper": 0.6}});
    let note = text(all(&shown("more-lost-and-worse", &document), "#locks .note")[0]);
    assert!(note.contains("proven worse, and these waits may be why"), "{note}");
    assert!(!note.contains("costs the program nothing") && !note.contains("meet at the locks"), "{note}");
}

/// On a phone a picture that scrolls would hide its largest part.
#[test]
fn flame_graphs_and_threads_have_a_drawing_for_phones() {
    let page = shown("herd", &herd());
    let graphs = all(&page, "#locks .drawn-twice > svg.phone .icicle").len();
    assert_eq!(graphs, all(&page, "#locks figure[id^=flame] div.scroll > svg").len());
    assert!(graphs > 0);
    for drawing in all(&page, "#locks svg.phone") {
        let width: f64 = drawing.attr("viewBox").unwrap().split(' ').nth(2).unwrap().parse().unwrap();
        assert!(width <= 340.0);
    }
    let keys = all(&page, "#locks figure#thread-time-picture").len();
    assert_eq!(keys, 1);
}

/// The verdict is about the candidate that is proven worse, although another one has the better ratio.
#[test]
fn candidate_of_the_verdict_is_shown_after_the_control() {
    let mut document = herd();
    let comparisons = document["analysis"]["comparisons"].as_array_mut().unwrap();
    let fair = comparisons.iter().position(|comparison| comparison["name"] == "fair").unwrap();
    let slower = comparisons[fair]["verdict"].clone();
    for comparison in comparisons.iter_mut() {
        comparison["verdict"] = match comparison["name"].as_str().unwrap() {
            "fair" => slower.clone(),
            _ => json!({"kind": "nothing_proven", "could_hide": null, "doubt": {"kind": "not_significant"}}),
        };
    }
    let mut of_fair = document["locks"]["metered"][1].clone();
    of_fair["candidate"] = json!("fair");
    document["locks"]["metered"].as_array_mut().unwrap().push(of_fair);
    let page = shown("worse", &document);
    assert!(text(page.root_element()).contains("before is system, after is fair."));
}
