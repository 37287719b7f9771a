//! The page of `unspin meter`: its numbers are those of the document, and runs with nothing or very much have a page.

use crate::cases::{all, around_document, lead, meter, page, rows_of, shown, table, text};
use scraper::Html;
use serde_json::{Value, json};

fn list<'d>(document: &'d Value, field: &str) -> &'d Vec<Value> {
    document[field].as_array().unwrap()
}

/// The run with no time in any row.
fn without_times() -> Value {
    fn clear(value: &mut Value) {
        const TIMES: [&str; 17] = [
            "hold",
            "hold_mean",
            "hold_max",
            "spin",
            "sleep",
            "wait_mean",
            "wait_max",
            "util",
            "spin_cpu",
            "cpus",
            "lost",
            "waited",
            "mean",
            "median",
            "max",
            "share",
            "saving",
        ];
        match value {
            Value::Object(fields) => fields.iter_mut().for_each(|(field, value)| match value.is_f64() {
                true if TIMES.contains(&field.as_str()) => *value = json!(0.0),
                _ => clear(value),
            }),
            Value::Array(values) => values.iter_mut().for_each(clear),
            _ => {}
        }
    }
    let mut document = meter();
    for field in ["total", "totals", "locks", "waits"] {
        clear(&mut document[field]);
    }
    for lock in document["locks"].as_array_mut().unwrap() {
        lock["holders"] = json!([]);
    }
    document
}

#[test]
fn locks_are_those_of_the_document() {
    let document = meter();
    let page = shown("meter", &document);
    let rows = rows_of(table(&page, "Locks, most time lost first"));
    let locks = list(&document, "locks");
    assert_eq!(rows.len(), 1 + locks.len());
    for lock in [&document["total"]].into_iter().chain(locks) {
        let name = match lock["name"].as_str().unwrap() {
            "*TOTAL*" => "All locks together",
            name => name,
        };
        let (_, cells) = rows.iter().find(|(head, _)| head.starts_with(name)).unwrap();
        let of = |field: &str| lock[field].as_f64();
        let waits = of("attempts").unwrap() - of("nowait").unwrap();
        // The sum of all holds is no share of the run.
        let held = if name == "All locks together" { None } else { of("util") };
        let expected = [
            of("lost"),
            Some(waits),
            of("con"),
            of("wait_mean"),
            of("wait_max"),
            of("hold_mean"),
            held,
            of("attempts"),
            of("ceiling"),
        ];
        assert_eq!(cells[..], expected, "{name}");
    }
}

#[test]
fn waits_are_those_of_the_document() {
    let document = meter();
    let page = shown("meter", &document);
    let rows = rows_of(table(&page, "Waits for anything but locks"));
    assert_eq!(rows.len(), list(&document, "waits").len());
    for (wait, (head, cells)) in list(&document, "waits").iter().zip(&rows) {
        assert!(head.starts_with(wait["name"].as_str().unwrap()), "{head}");
        let of = |field: &str| wait[field].as_f64();
        let short = of("short").unwrap() / of("waits").unwrap();
        let expected = [
            of("waited"),
            of("share"),
            of("waits"),
            of("median"),
            of("max"),
            Some(short),
            of("saving"),
            of("gave_up"),
        ];
        assert_eq!(cells[..], expected, "{head}");
    }
}

/// The table does not promise what the finding denies.
#[test]
fn saving_of_waits_that_found_the_cpus_awake_is_little() {
    let mut document = meter();
    document["waits"][0]["saving"] = json!(0.04);
    for (median, shown_as) in [(5.7e-6, "little"), (90e-6, "40 ms")] {
        document["waits"][0]["median"] = json!(median);
        let page = shown("saving", &document);
        let grid = table(&page, "Waits for anything but locks");
        let rows = scraper::Selector::parse("tbody tr").unwrap();
        let name = document["waits"][0]["name"].as_str().unwrap();
        let row = grid.select(&rows).map(text).find(|row| row.starts_with(name)).unwrap();
        assert_eq!(row.contains("little"), shown_as == "little", "{row}");
        assert!(row.contains(shown_as), "{row}");
    }
}

#[test]
fn blockers_are_those_of_the_document() {
    let document = meter();
    let page = shown("meter", &document);
    let rows = rows_of(table(&page, "Call sites that waited for a lock"));
    let lock = &document["locks"][0];
    let lost = |caller: &&Value| caller["lost"].as_f64() > Some(0.0);
    for caller in list(&lock["uses"][0], "callers").iter().filter(lost) {
        let (_, cells) = rows.iter().find(|(head, _)| head == caller["name"].as_str().unwrap()).unwrap();
        let waits = caller["attempts"].as_f64().unwrap() - caller["nowait"].as_f64().unwrap();
        assert_eq!(cells[2..], [Some(waits), caller["lost"].as_f64(), caller["wait_max"].as_f64()]);
    }
    for holder in list(lock, "holders") {
        let of = |field: &str| holder[field].as_f64();
        let expected = [of("waits"), of("seconds"), of("max")];
        assert!(rows.iter().any(|(_, cells)| cells[2..] == expected), "{holder}");
    }
}

#[test]
fn histograms_are_those_of_the_document() {
    let document = meter();
    let page = shown("meter", &document);
    let rows = rows_of(table(&page, "Holds and waits by their length"));
    for lock in list(&document, "locks").iter().filter(|lock| !list(lock, "waits").is_empty()) {
        let name = lock["name"].as_str().unwrap();
        let ranges = list(lock, "holds").iter().chain(list(lock, "waits"));
        let expected: Vec<_> =
            ranges.map(|range| ["from", "below", "count"].map(|f| range[f].as_f64())).collect();
        let of_lock = rows.iter().filter(|(head, _)| head == name);
        let found: Vec<_> = of_lock.map(|(_, cells)| [cells[1], cells[2], cells[3]]).collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn finding_and_commands_lead() {
    let document = meter();
    let page = shown("meter", &document);
    assert!(lead(&page).starts_with("Threads wait for cache_lock"), "{}", lead(&page));
    let header = text(all(&page, "header")[0]);
    assert!(header.contains("unspin prove --mutex adaptive@cache_lock -- ./jobs"), "{header}");
    let measured = text(all(&page, "#measured")[0]);
    for pointer in ["/repeat", "/machine/processor", "/machine/kernel", "/machine/host", "/unspin/commit"] {
        let fact = document.pointer(pointer).unwrap().as_str().unwrap();
        assert!(measured.contains(fact), "{pointer}: {measured}");
    }
}

#[test]
fn silent_run_has_a_page() {
    let mut document = without_times();
    document["locks"] = json!([]);
    document["waits"] = json!([]);
    for field in ["attempts", "nowait", "slept", "timed"] {
        document["total"][field] = json!(0);
    }
    document["notes"] = json!(["The program ended with exit code 3."]);
    let page = shown("silent", &document);
    assert_eq!(lead(&page), "No lock and no wait was recorded.");
    assert!(text(all(&page, "header")[0]).contains("ended with exit code 3"));
    assert!(text(all(&page, "#locks")[0]).contains("No lock was recorded."));
    assert!(all(&page, "#locks table.grid-table, #blockers-picture, #histograms-picture").is_empty());
}

#[test]
fn run_with_nothing_to_show_has_no_section_about_locks() {
    let mut document = without_times();
    document["locks"] = json!([]);
    document["waits"] = json!([]);
    for (_, value) in document["blocked"].as_object_mut().unwrap() {
        *value = if value.is_f64() { json!(0.0) } else { json!(0) };
    }
    let page = shown("nothing", &document);
    assert_eq!(lead(&page), "No lock and no wait was recorded.");
    assert!(all(&page, "#locks, a[href='#locks']").is_empty());
    crate::safety::check_structure(&page);
}

#[test]
fn recording_says_that_it_names_no_machine() {
    let mut document = meter();
    for field in ["machine", "repeat"] {
        document.as_object_mut().unwrap().remove(field);
    }
    let page = shown("recording", &document);
    assert!(text(all(&page, "#measured")[0]).contains("a recording does not name the machine"));
}

#[test]
fn times_have_one_form() {
    let mut document = meter();
    document["notes"] = json!(["Try `unspin meter --min-lost 5ms`: 239ms and 17us."]);
    let page = shown("times", &document);
    for element in all(&page, "header p, #locks p, #locks li, #locks text, #locks desc, #locks td, #more p") {
        let shown = text(element);
        for word in shown.split([' ', '(', '<']).filter(|word| !shown.contains(&format!("--min-lost {word}")))
        {
            let unit = word
                .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
                .trim_end_matches(['.', ',', ')', ';', ':']);
            let is_time = ["ns", "us", "µs", "ms", "s"].contains(&unit)
                && word.starts_with(|c: char| c.is_ascii_digit());
            assert!(!is_time && unit != "us", "{word}: {shown}");
        }
    }
    let header = all(&page, "header")[0].text().collect::<String>();
    assert!(header.contains("239\u{a0}ms and 17\u{a0}µs."), "{header}");
    assert!(all(&page, "header code").into_iter().any(|code| text(code) == "unspin meter --min-lost 5ms"));
}

#[test]
fn counted_run_has_no_times() {
    let mut document = without_times();
    document["level"] = json!("counts");
    let page = shown("counts", &document);
    assert_eq!(lead(&page), "The locks were counted only, so how much time they cost is not known.");
    let (_, cells) = &rows_of(table(&page, "Locks, most time lost first"))[1];
    assert_eq!([cells[0], cells[3], cells[4], cells[5], cells[6], cells[8]], [None; 6]);
    assert_eq!(cells[7], document["locks"][0]["attempts"].as_f64());
    assert!(all(&page, "#blockers-picture").is_empty());
}

#[test]
fn run_without_lost_time_says_so() {
    let page = shown("no-time", &without_times());
    assert_eq!(lead(&page), "No thread lost time for a lock.");
    assert!(all(&page, "#blockers-picture, #flame-locks").is_empty());
}

#[test]
fn processes_are_listed_if_there_are_several() {
    let mut document = meter();
    assert!(all(&shown("meter", &document), "#processes").is_empty());
    let mut second = document["processes"][0].clone();
    second["pid"] = json!(4711);
    second["command"] = json!(["./child", "long ".repeat(100)]);
    document["processes"].as_array_mut().unwrap().push(second);
    let page = shown("processes", &document);
    let rows = rows_of(all(&page, "#processes table")[0]);
    let pids: Vec<String> =
        list(&document, "processes").iter().map(|process| process["pid"].to_string()).collect();
    assert_eq!(rows.iter().map(|(head, _)| head.clone()).collect::<Vec<_>>(), pids);
    assert_eq!(rows[1].1[..2], ["since", "threads"].map(|field| document["processes"][1][field].as_f64()));
}

#[test]
fn locks_in_use_at_the_end_are_listed() {
    let mut document = meter();
    let held = json!({"pid": 7, "tid": 8, "lock": "cache_lock", "kind": "mutex", "caller": "cache_evict+0x10",
                      "since": document["seconds"].as_f64().unwrap() - 0.03125});
    document["held"] = json!([held]);
    document["left_locked"] = json!([held, held]);
    let page = shown("held", &document);
    let (head, cells) = &rows_of(table(&page, "Held at the end"))[0];
    assert_eq!(head, "cache_lock");
    assert!((cells[2].unwrap() - 0.03125).abs() < 1e-9);
    assert_eq!(rows_of(table(&page, "Still held when their process ended")).len(), 2);
}

#[test]
fn thousand_locks_are_cut_with_a_note() {
    let mut document = meter();
    let lock = document["locks"][0].clone();
    let named = |i: usize| {
        let mut lock = lock.clone();
        lock["name"] = json!(format!("lock_{i}"));
        lock["address"]["address"] = json!(i);
        lock
    };
    document["locks"] = (0..1000).map(named).collect();
    let page = page("thousand", &document);
    let without_document: usize = around_document(&page).map(str::len).iter().sum();
    assert!(without_document < 200_000, "{without_document} bytes");
    let page = Html::parse_document(&page);
    // With the row of all locks.
    assert!(text(all(&page, "#locks")[0]).contains("Left out here: the other 961 rows."));
    assert!(text(all(&page, "#locks")[0]).contains("995 more locks are not drawn."));
}

#[test]
fn long_names_are_whole_in_tables_and_short_in_pictures() {
    let mut document = meter();
    let long = "very_long_name_".repeat(14);
    crate::cases::rename(&mut document, "cache_lock", &long);
    crate::cases::rename(&mut document, "cache_lookup", &long);
    let page = shown("long-meter", &document);
    assert!(
        rows_of(table(&page, "Locks, most time lost first")).iter().any(|(head, _)| head.starts_with(&long))
    );
    let is_short = |label| text(label).chars().count() <= 120;
    assert!(all(&page, "svg text").into_iter().all(is_short));
}
