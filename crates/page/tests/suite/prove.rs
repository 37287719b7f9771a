//! The page of `unspin prove`: what a reader asks beyond the numbers.

use crate::cases::{all, herd, rename, shown, table, text};
use scraper::{Html, Selector};
use serde_json::{Value, json};

const DISTURBANCE: &str = "Disturbance: other programs used 48.8 % of the CPUs meanwhile, the hypervisor took 0.1 %. The intervals are \
                           wider for it; measure on a quiet machine (--wait-for-quiet).";

/// The session with what newer versions write: warnings, reasons, and what the candidates change.
pub fn explained() -> Value {
    let mut document = herd();
    document["summary"]["warnings"] = json!([DISTURBANCE]);
    document["summary"]["why"] = json!([
        {"sentence": "Found in one metered run: 219ms on 2 CPUs.", "places": []},
        {
            "sentence": "Threads slept in waits that were not much longer than a wake-up, which costs 17us here.",
            "places": ["take+0x173 [semaphore]: 7780 waits, 89 % of them short", "pop+0x4b [condition]: 12 waits"],
        },
        {"sentence": "At take+0x173 threads slept in 100 % of 3903 waits with system and 2.4 % of 2427 waits with poll.", "places": []},
    ]);
    for (candidate, number) in document["candidates"].as_array_mut().unwrap().iter_mut().zip(0..) {
        let summary = format!("every mutex: kind number {number}");
        candidate["summary"] = if number < 3 { Value::Null } else { json!(summary) };
    }
    document
}

/// A session that found nothing to try.
pub fn nothing_to_try() -> Value {
    let mut document = herd();
    document["runs"] = json!([]);
    document["rounds"] = json!(0);
    document["elapsed_s"] = json!(0.0);
    document["conclusion"] = json!("nothing_proven");
    document["plan"] = Value::Null;
    document["disturbance"] = json!({"total_s": 0.0, "steal_s": 0.0, "others_s": 0.0, "throttling": null});
    document["candidates"].as_array_mut().unwrap().truncate(3);
    for candidate in document["candidates"].as_array_mut().unwrap() {
        for (_, figure) in candidate["cpu"].as_object_mut().unwrap() {
            *figure = json!(0.0);
        }
    }
    let without_runs = |comparison: &mut Value| {
        let fields = [
            "summary",
            "ratio",
            "difference",
            "difference_p_corrected",
            "minimum_detectable_effect",
            "spread",
            "cpu",
        ];
        for field in fields {
            comparison[field] = Value::Null;
        }
        comparison["runs"] = json!([]);
        comparison["rounds"] = json!(0);
        comparison["verdict"] = json!({"kind": "nothing_proven", "could_hide": null, "doubt": {"kind": "too_few_rounds", "needed": 6}});
    };
    let again = document["analysis"]["comparisons"].as_array_mut().unwrap();
    again.retain(|comparison| comparison["role"] == "control_again");
    again.iter_mut().for_each(without_runs);
    without_runs(&mut document["no_preload"]);
    for field in ["control_summary", "noise_floor", "noise_floor_sentence", "stop", "advice"] {
        document["analysis"][field] = Value::Null;
    }
    document["locks"]["metered"].as_array_mut().unwrap().truncate(1);
    document["summary"] = json!({
        "proven": "nothing, because no candidate was compared.",
        "warnings": ["Other programs used so much CPU time in that run that waits worth a search may have been missed: repeat it with \
                      --wait-for-quiet."],
        "why": [
            {"sentence": "Found in one metered run: 7.53s on 2 CPUs.", "places": []},
            {"sentence": "No lock and no wait costs enough time to search for a better one.", "places": []},
        ],
        "next": ["No plan: there is nothing to try.", "Next: `unspin meter --lens off-cpu` says what the threads wait for."],
    });
    document
}

/// The row of the table of configurations: the head and the cells.
fn row(page: &Html, name: &str) -> (String, Vec<String>) {
    let selector = Selector::parse("tbody tr").unwrap();
    let rows = table(page, "Each configuration").select(&selector);
    let mut rows = rows.map(|row| row.child_elements().map(text).collect::<Vec<_>>());
    let mut found = rows.find(|cells| cells[0].starts_with(name)).unwrap();
    (found.remove(0), found)
}

#[test]
fn header_says_why_and_what_disturbed() {
    let document = explained();
    let page = shown("explained", &document);
    assert_eq!(text(all(&page, "header p.note")[0]), DISTURBANCE);
    let header = text(all(&page, "header")[0]);
    let order = [
        "How sure:",
        "Disturbance:",
        "Compared:",
        "Why",
        "Found in one metered run: 219 ms",
        "Run the program with it",
    ];
    let places: Vec<usize> =
        order.iter().map(|part| header.find(part).unwrap_or_else(|| panic!("{part}: {header}"))).collect();
    assert!(places.is_sorted(), "{places:?} {header}");
    for reason in document["summary"]["why"].as_array().unwrap() {
        let places = reason["places"].as_array().unwrap().iter();
        for sentence in [&reason["sentence"]].into_iter().chain(places) {
            let sentence = sentence.as_str().unwrap().replace("219ms", "219 ms").replace("17us", "17 µs");
            assert!(header.contains(&sentence), "{sentence}: {header}");
        }
    }
    assert_eq!(
        all(&page, "header ul li").into_iter().filter(|item| text(*item).contains("waits")).count(),
        2
    );
}

#[test]
fn each_configuration_is_explained() {
    let document = explained();
    let page = shown("explained", &document);
    for candidate in document["candidates"].as_array().unwrap() {
        let (head, _) = row(&page, candidate["name"].as_str().unwrap());
        let words = candidate["summary"].as_str().unwrap_or("the program");
        assert!(head.contains(words), "{head}");
    }
}

#[test]
fn session_without_candidates_has_no_empty_sections() {
    let page = shown("nothing-to-try", &nothing_to_try());
    for section in ["#ratios", "#runs", "#cpu", "#failures"] {
        assert!(all(&page, section).is_empty(), "{section}");
    }
    let header = text(all(&page, "header")[0]);
    for part in
        ["may have been missed", "7.53 s on 2 CPUs", "No lock and no wait costs", "there is nothing to try"]
    {
        assert!(header.contains(part), "{part}: {header}");
    }
    assert_eq!(text(all(&page, "#locks h2")[0]), "The locks");
    let place = text(all(&page, "#place")[0]);
    assert!(place.contains("no candidate was run") && !place.contains("other programs"), "{place}");
}

#[test]
fn session_without_a_round_has_a_table_and_no_picture() {
    let mut document = explained();
    for comparison in document["analysis"]["comparisons"].as_array_mut().unwrap() {
        comparison["ratio"] = Value::Null;
    }
    document["no_preload"]["ratio"] = Value::Null;
    let page = shown("no-ratio", &document);
    assert!(all(&page, "#ratios svg").is_empty());
    assert_eq!(row(&page, "adaptive").1[1], "–");
}

#[test]
fn commands_in_sentences_are_code() {
    let page = shown("nothing-to-try", &nothing_to_try());
    let header = text(all(&page, "header")[0]);
    assert!(!header.contains('`'), "{header}");
    let commands = all(&page, "header li code");
    assert!(commands.into_iter().any(|code| text(code) == "unspin meter --lens off-cpu"));
}

#[test]
fn program_without_the_library_has_its_verdict() {
    let mut document = herd();
    let sentence = "no preload is 2.2 times as fast as system: difference proven.";
    document["no_preload"]["sentence"] = json!(sentence);
    document["no_preload"]["verdict"] =
        json!({"kind": "proven_faster", "ratio": document["no_preload"]["ratio"]});
    let page = shown("no-preload", &document);
    assert_eq!(row(&page, "no preload").1[0], "proven better; no candidate");
    let words: Vec<String> = all(&page, "#ratios li").into_iter().map(text).collect();
    assert_eq!(words[0], sentence);
    assert_eq!(row(&page, "system (again)").1[0], "the noise");
}

#[test]
fn plan_called_nothing_keeps_its_name() {
    let mut document = herd();
    rename(&mut document, "adaptive", "nothing.toml");
    let page = shown("called-nothing", &document);
    let heading = all(&page, "h1")[0];
    assert!(text(heading).starts_with("nothing.toml is faster"), "{}", text(heading));
    let names: Vec<String> = all(&page, "h1 code").into_iter().map(text).collect();
    assert_eq!(names, ["nothing.toml", "system", "fair", "system", "mcs", "steal"]);
}

#[test]
fn runs_are_counted_without_warm_ups_and_the_page_says_so() {
    let document = herd();
    let page = shown("herd", &document);
    let runs = document["runs"].as_array().unwrap();
    let (_, cells) = row(&page, "adaptive");
    let measured = runs.iter().filter(|run| run["candidate"] == 3 && run["round"] != 0).count();
    assert_eq!(cells[7], measured.to_string());
    // As many as the section about them counts.
    let failed = runs.iter().filter(|run| run["candidate"] == 6 && run["value"].is_null()).count();
    assert_eq!(row(&page, "mcs").1[8], failed.to_string());
    assert!(text(all(&page, "#failures")[0]).contains(&format!("{failed} runs failed")));
    let warm_ups = runs.iter().filter(|run| run["round"] == 0).count();
    let session = format!("{} runs and {warm_ups} warm-ups", runs.len() - warm_ups);
    let place = text(all(&page, "#place")[0]);
    assert!(place.contains(&session), "{session}: {place}");
}

#[test]
fn kernel_time_is_no_configuration() {
    let page = shown("herd", &herd());
    let heads: Vec<String> = all(&page, "#cpu thead th").into_iter().map(text).collect();
    assert_eq!(heads[3..5], ["in the program", "in the kernel"]);
    let names: Vec<&str> = vec!["system", "system (again)", "no preload", "adaptive", "steal", "fair", "mcs"];
    assert!(heads.iter().all(|head| !names.contains(&head.as_str())), "{heads:?}");
}

#[test]
fn labels_of_an_axis_differ() {
    for (lower, upper) in [(0.97, 1.06), (0.999, 1.002), (0.2, 30.0)] {
        let mut document = herd();
        let comparisons = document["analysis"]["comparisons"].as_array_mut().unwrap();
        for comparison in comparisons {
            comparison["ratio"] = json!({"value": 1.0, "lower": lower, "upper": upper});
        }
        document["no_preload"]["ratio"] = json!({"value": 1.0, "lower": lower, "upper": upper});
        document["analysis"]["noise_floor"]["factor"] = json!(1.001);
        for drawing in ["#ratios-picture svg", "#ratios svg.phone"] {
            let page = shown("axis", &document);
            let labels = all(&page, &format!("{drawing} text[text-anchor=middle]")).into_iter().map(text);
            let labels: Vec<String> = labels.filter(|label| label != "noise").collect();
            let distinct: std::collections::BTreeSet<&String> = labels.iter().collect();
            assert!(labels.len() > 2 && distinct.len() == labels.len(), "{drawing}: {labels:?}");
            assert!(labels.contains(&"1".to_owned()), "{drawing}: {labels:?}");
        }
    }
}

/// On a phone each row has its name, its mark and its ratio, within the drawing.
#[test]
fn phones_have_a_drawing_of_their_width() {
    let document = herd();
    let page = shown("herd", &document);
    for section in ["ratios", "cpu"] {
        let drawing = all(&page, &format!("#{section} svg.phone"))[0];
        let [_, _, width, height] = drawing
            .attr("viewBox")
            .unwrap()
            .split(' ')
            .map(|part| part.parse::<f64>().unwrap())
            .collect::<Vec<_>>()[..]
        else {
            panic!("{:?}", drawing.attr("viewBox"))
        };
        assert!(width <= 340.0, "{width}");
        for (attribute, most) in
            [("x", width), ("x1", width), ("x2", width), ("cx", width), ("y", height), ("cy", height)]
        {
            for element in all(&page, &format!("#{section} svg.phone [{attribute}]")) {
                let at: f64 = element.attr(attribute).unwrap().parse().unwrap();
                assert!((0.0..=most).contains(&at), "{section}: {attribute}={at}");
            }
        }
        let shown = text(drawing);
        // The candidate that collapsed has no CPU time.
        let has_cpu = |candidate: &&Value| candidate["cpu"]["wall_s"].as_f64() > Some(0.0);
        for candidate in document["candidates"].as_array().unwrap().iter().filter(has_cpu) {
            assert!(shown.contains(candidate["name"].as_str().unwrap()), "{section}: {shown}");
        }
    }
    let wide = all(&page, "#ratios-picture svg .mark").len();
    assert_eq!(all(&page, "#ratios svg.phone .mark").len(), wide);
    let (_, cells) = row(&page, "adaptive");
    assert!(
        text(all(&page, "#ratios svg.phone")[0]).contains(&format!("{}  (", cells[1]).replace("  ", " "))
    );
}

/// The context switches of a server are not counted: the document has 0.
#[test]
fn switches_of_a_server_are_unknown() {
    let mut document = herd();
    document["service"] = json!({"ready": "true", "load": "true", "stop": null});
    let page = shown("server", &document);
    for (head, cells) in crate::cases::rows_of(all(&page, "#cpu table")[0]) {
        assert_eq!(cells[5..7], [None, None], "{head}");
    }
}

#[test]
fn disturbance_comes_first_if_nothing_is_proven() {
    let mut document = explained();
    document["conclusion"] = json!("nothing_proven");
    document["summary"]["proven"] =
        json!("nothing. The runs do not tell whether adaptive is better or worse than system.");
    let page = shown("undecided", &document);
    let header = text(all(&page, "header")[0]);
    let order = ["Nothing is proven", "Disturbance:", "How sure:", "What changed"];
    let places: Vec<usize> =
        order.iter().map(|part| header.find(part).unwrap_or_else(|| panic!("{part}: {header}"))).collect();
    assert!(places.is_sorted(), "{places:?} {header}");
    assert_eq!(header.matches("Disturbance:").count(), 1);
    assert!(!all(&page, "header h2").into_iter().any(|heading| text(heading) == "Why"));
}

#[test]
fn plan_has_a_way_without_unspin_in_front() {
    let page = shown("herd", &herd());
    let codes: Vec<String> = all(&page, "header code").into_iter().map(text).collect();
    assert!(codes.contains(&"unspin plan compile".to_owned()), "{codes:?}");
}

/// A name of 26 letters and a note of 20 stand on one line of 330 px.
#[test]
fn names_and_notes_of_phones_do_not_overlap() {
    let mut document = herd();
    rename(&mut document, "adaptive", "MMMMadaptive@cache_lock_of_the_shards");
    let comparisons = document["analysis"]["comparisons"].as_array_mut().unwrap();
    for comparison in comparisons {
        comparison["ratio"] = json!({"value": 1003.2, "lower": 1001.1, "upper": 1005.3});
    }
    let page = shown("long-names", &document);
    let mut lines = std::collections::BTreeMap::<String, Vec<String>>::new();
    for element in all(&page, "#ratios svg.phone > text") {
        lines.entry(element.attr("y").unwrap().to_owned()).or_default().push(text(element));
    }
    let pairs: Vec<&Vec<String>> =
        lines.values().filter(|texts| texts.len() == 2 && texts[0].contains('…')).collect();
    assert!(!pairs.is_empty(), "{lines:?}");
    for pair in pairs {
        let letters: usize = pair.iter().map(|text| text.chars().count()).sum();
        assert!(letters as f64 * 7.6 <= 330.0, "{pair:?}");
    }
}

#[test]
fn title_of_the_window_is_the_command() {
    let mut document = herd();
    document["command"] = json!(["./server", "--save", "", "--name", "a b"]);
    let page = shown("title", &document);
    assert_eq!(text(all(&page, "title")[0]), "unspin prove: ./server --save '' --name 'a b'");
}
