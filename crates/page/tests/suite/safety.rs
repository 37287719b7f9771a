//! Whatever a name is, a page runs nothing and loads nothing, and screen readers find their way.

use crate::cases::{HOSTILE, all, around_document, every_kind, hostile, page};
use scraper::Html;

#[test]
fn only_script_is_the_document() {
    for (name, document) in every_kind() {
        let page = page(name, &document);
        assert_eq!(page.matches("<script").count(), 1, "{name}");
        let page = Html::parse_document(&page);
        let scripts = all(&page, "script");
        assert_eq!(scripts.len(), 1, "{name}");
        assert_eq!(scripts[0].attr("id"), Some("result"));
        assert!(matches!(scripts[0].attr("type"), Some("application/json" | "application/gzip")), "{name}");
        assert!(all(&page, "img, iframe, object, embed, base, form").is_empty(), "{name}");
    }
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    for (name, document) in every_kind() {
        let page = Html::parse_document(&page(name, &document));
        for element in all(&page, "*") {
            for (attribute, value) in element.value().attrs() {
                assert!(!attribute.starts_with("on"), "{name}: {attribute}={value}");
                let loads =
                    ["src", "href", "srcset", "data", "action", "poster", "xlink:href"].contains(&attribute);
                assert!(!loads || value.starts_with('#') || value == "data:,", "{name}: {attribute}={value}");
                assert!(attribute != "style" || !value.contains("url("), "{name}: {value}");
            }
        }
        let style = all(&page, "style")[0].text().collect::<String>();
        assert!(!style.contains("url(") && !style.contains("@import"), "{name}");
        let policy = all(&page, "meta[http-equiv='Content-Security-Policy']")[0].attr("content").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; style-src 'unsafe-inline'; img-src data:"),
            "{policy}"
        );
    }
}

#[test]
fn control_characters_and_overrides_are_shown_as_escapes() {
    for (name, document) in every_kind().into_iter().filter(|(name, _)| name.contains("hostile")) {
        let page = page(name, &document);
        let [shown, _] = around_document(&page);
        let is_bad = |letter: char| {
            letter.is_control() && letter != '\n' || ('\u{202a}'..='\u{202e}').contains(&letter)
        };
        assert_eq!(shown.chars().find(|letter| is_bad(*letter)), None, "{name}");
        assert!(shown.contains("\\u{1b}"), "{name}");
    }
    let page = page("hostile", &hostile());
    assert!(page.contains(HOSTILE[4]), "letters that are read from right to left are shown as they are");
}

/// In every place where a name can stand: locks, waits, call sites and where they are, holders, origins, configurations, commands,
/// machines, sentences.
#[test]
fn hostile_names_are_escaped_wherever_they_stand() {
    for (kind, mut document) in every_kind().into_iter().filter(|(kind, _)| !kind.contains("hostile")) {
        poison(&mut document);
        let page = page(&format!("poisoned-{kind}"), &document);
        for part in around_document(&page) {
            let bad =
                part.find(|letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}');
            let around = bad.map(|at| {
                part[..at].chars().rev().take(120).collect::<Vec<_>>().into_iter().rev().collect::<String>()
            });
            assert_eq!(around, None, "{kind}");
        }
    }
}

/// Gives all names and sentences a hostile end.
fn poison(value: &mut serde_json::Value) {
    const NAMES: [&str; 32] = [
        "name",
        "names",
        "origin",
        "place",
        "lock",
        "caller",
        "candidate",
        "control",
        "command",
        "host",
        "processor",
        "kernel",
        "version",
        "commit",
        "reason",
        "frames",
        "process",
        "next",
        "notes",
        "repeat",
        "failures",
        "failure",
        "output_tail",
        "unit",
        "proven",
        "how_sure",
        "compared",
        "caution",
        "apply",
        "system_call",
        "missing",
        "module",
    ];
    fn spoil(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::String(text) => text.push_str("\u{202e}\u{0}\u{1b}"),
            serde_json::Value::Array(values) => values
                .iter_mut()
                .for_each(|value| if value.is_string() { spoil(value) } else { poison(value) }),
            other => poison(other),
        }
    }
    match value {
        serde_json::Value::Object(fields) => {
            for (field, value) in fields {
                if NAMES.contains(&field.as_str()) { spoil(value) } else { poison(value) }
            }
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(poison),
        _ => {}
    }
}

#[test]
fn screen_readers_find_landmarks_headings_and_tables() {
    for (name, document) in every_kind() {
        check_structure(&Html::parse_document(&page(name, &document)));
    }
}

pub fn check_structure(page: &Html) {
    for landmark in ["header", "nav[aria-label]", "main#main", "footer"] {
        assert_eq!(all(page, landmark).len(), 1, "{landmark}");
    }
    assert_eq!(all(page, "h1").len(), 1);
    let levels = all(page, "h1, h2, h3, h4")
        .into_iter()
        .map(|heading| heading.value().name()[1..].parse::<u32>().unwrap());
    levels.fold(0, |before, level| {
        assert!(level <= before + 1, "h{level} follows h{before}");
        level
    });
    for table in all(page, "table") {
        let has =
            |selector: &str| table.select(&scraper::Selector::parse(selector).unwrap()).next().is_some();
        assert!(has("caption") && has("th[scope=col]"), "{}", table.html());
        assert!(!has("th:not([scope])"));
    }
    for picture in all(page, "svg[role=img]") {
        for id in picture.attr("aria-labelledby").unwrap().split(' ') {
            assert_eq!(all(page, &format!("[id='{id}']")).len(), 1, "{id}");
        }
    }
    let ids: Vec<&str> = all(page, "[id]").into_iter().filter_map(|element| element.attr("id")).collect();
    let distinct: std::collections::HashSet<&&str> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
}
