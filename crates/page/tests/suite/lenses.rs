//! The sections of the lenses of the kernel's events.

use crate::cases::{all, lead, lenses, rows_of, shown, table, text};
use scraper::Html;
use serde_json::{Value, json};

/// Checks a table whose columns are time, number, mean and longest of each entry.
fn is_table_of(page: &Html, caption: &str, entries: &Value, name: &str, fields: [&str; 3]) {
    let rows = rows_of(table(page, caption));
    let entries = entries.as_array().unwrap();
    assert_eq!(rows.len(), entries.len(), "{caption}");
    for (entry, (head, cells)) in entries.iter().zip(&rows) {
        assert!(head.starts_with(entry[name].as_str().unwrap()), "{head}");
        let [time, count, longest] = fields.map(|field| entry[field].as_f64());
        let mean = entry["wait_mean"].as_f64().or(Some(time.unwrap() / count.unwrap()));
        assert_eq!(cells[..], [time, count, mean, longest], "{head}");
    }
}

#[test]
fn tables_are_those_of_the_document() {
    let document = lenses();
    let page = shown("lenses", &document);
    let reasons = &document["off_cpu"]["reasons"];
    is_table_of(&page, "Why threads were blocked", reasons, "reason", ["blocked", "count", "max"]);
    let futexes = &document["futex"]["futexes"];
    is_table_of(&page, "Futexes, most time first", futexes, "name", ["waited", "waits", "wait_max"]);
    let locks = &document["kernel"]["locks"];
    is_table_of(&page, "Locks of the kernel, most time first", locks, "name", ["lost", "waits", "wait_max"]);
}

#[test]
fn parts_of_the_threads_time_are_those_of_the_document() {
    let document = lenses();
    let page = shown("lenses", &document);
    let rows = rows_of(table(&page, "Parts of the threads' time"));
    let all = document["thread_time"]["thread_seconds"].as_f64().unwrap();
    for (part, (head, cells)) in document["thread_time"]["parts"].as_array().unwrap().iter().zip(&rows) {
        let seconds = part["seconds"].as_f64().unwrap();
        assert_eq!(
            (head.as_str(), &cells[..2]),
            (part["name"].as_str().unwrap(), &[Some(seconds), Some(seconds / all)][..])
        );
    }
}

#[test]
fn stacks_add_up_to_the_time_of_their_rows() {
    let document = lenses();
    let page = shown("lenses", &document);
    let (head, cells) = &rows_of(table(&page, "Flame graph of blocked threads"))[0];
    assert_eq!(head, "blocked");
    let blocked = document["off_cpu"]["blocked"].as_f64().unwrap();
    assert!((cells[1].unwrap() / blocked - 1.0).abs() < 1e-6, "{cells:?}");
}

#[test]
fn lens_that_saw_most_leads() {
    let mut document = lenses();
    assert!(lead(&shown("lenses", &document)).contains("6 threads were blocked for 111 ms of their 334 ms"));
    let fields = document.as_object_mut().unwrap();
    fields.remove("off_cpu");
    fields.remove("thread_time");
    let page = shown("lens-futex", &document);
    assert!(
        lead(&page).starts_with("Threads waited at futexes for 217 ms, 78 ms of it at cache_lock"),
        "{}",
        lead(&page)
    );
    assert!(text(all(&page, "header")[0]).contains("Next: a mutex of libc: hold it for less time"));
    document.as_object_mut().unwrap().remove("futex");
    let page = shown("lens-kernel", &document);
    assert!(lead(&page).starts_with("Threads waited for locks of the kernel for "), "{}", lead(&page));
    document.as_object_mut().unwrap().remove("kernel");
    assert_eq!(lead(&shown("lens-none", &document)), "Nothing was observed.");
}

#[test]
fn lens_without_waits_says_so() {
    let mut document = lenses();
    document["off_cpu"]["reasons"] = json!([]);
    document["futex"]["futexes"] = json!([]);
    document["kernel"]["locks"] = json!([]);
    for field in ["thread_seconds", "on_cpu", "runnable", "blocked"] {
        document["off_cpu"][field] = json!(0.0);
    }
    let page = shown("lens-silent", &document);
    for section in ["off-cpu", "futex", "kernel"] {
        assert!(text(all(&page, &format!("#{section}"))[0]).contains("No wait was seen."), "{section}");
    }
    assert!(all(&page, "#off-cpu svg[role=img], #futex svg[role=img], #kernel svg[role=img]").is_empty());
}

#[test]
fn same_advice_is_given_once() {
    let document = lenses();
    let page = shown("lenses", &document);
    let futexes = document["futex"]["futexes"].as_array().unwrap();
    let distinct: std::collections::HashSet<&str> =
        futexes.iter().filter_map(|one| one["next"].as_str()).collect();
    let repeated = futexes.iter().filter(|one| one["next"].is_string()).count() - distinct.len();
    let section = text(all(&page, "#futex")[0]);
    assert!(repeated > 0);
    assert_eq!(section.matches("→ as for ").count(), repeated);
    for advice in distinct {
        let advice = advice.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(section.matches(&advice).count(), 1, "{advice}");
    }
}

#[test]
fn title_and_heading_name_the_command() {
    let mut document = lenses();
    document["command"] = json!(["./jobs", "two words"]);
    let page = shown("lens-command", &document);
    assert_eq!(text(all(&page, "title")[0]), "unspin meter: ./jobs 'two words'");
    assert_eq!(text(all(&page, "h1")[0]), "Locks and waits of ./jobs 'two words'");
    assert!(text(all(&page, "#measured")[0]).contains("./jobs 'two words'"));
}

#[test]
fn stack_of_many_frames_is_cut_with_a_note() {
    let mut document = lenses();
    let frames: Vec<String> = (0..200_000).map(|frame| format!("f{frame}")).collect();
    document["off_cpu"]["reasons"][0]["callers"][0]["frames"] = json!(frames);
    let page = shown("lens-deep", &document);
    assert!(
        text(all(&page, "#off-cpu-flame figcaption")[0])
            .contains("One stack is deeper than the picture and its table")
    );
    assert!(all(&page, "#off-cpu-flame .icicle rect").len() < 200);
}

#[test]
fn lost_records_are_said() {
    let mut document = lenses();
    document["futex"]["lost_records"] = json!(12);
    document["off_cpu"]["unreadable_records"] = json!(3);
    let page = shown("lens-lost", &document);
    assert!(text(all(&page, "#futex")[0]).contains("12 records were lost"));
    assert!(text(all(&page, "#off-cpu")[0]).contains("3 records could not be read"));
}
