//! Sentences of the printed reports, as a page shows them.

use crate::name::visible;
use maud::{Markup, html};

/// Units of times in sentences, as [`unspin_figures::time`] writes them.
const UNITS: [&str; 7] = ["ns", "us", "ms", "s", "h", "d", "y"];

/// A sentence of a report: what it has in backticks is code, its times look like those of the page's tables, and control
/// characters of the names in it are visible.
pub fn prose(sentence: &str) -> Markup {
    let parts: Vec<&str> = sentence.split('`').collect();
    // A backtick without its partner is a part of a name.
    let is_paired = parts.len() % 2 == 1;
    html! {
        bdi.name {
            @if is_paired {
                @for (place, part) in parts.iter().enumerate() {
                    @if place % 2 == 1 { code { (visible(part)) } } @else { (with_units(&visible(part))) }
                }
            } @else {
                (with_units(&visible(sentence)))
            }
        }
    }
}

/// The text with a space in its times: `17us` as `17 µs`, at which no line is broken. The values of options are kept: they are typed.
pub fn with_units(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut is_option = false;
    for word in text.split_inclusive(' ') {
        match (is_option, time(word)) {
            (false, Some((before, number, unit, after))) => {
                shown.extend([before, number, "\u{a0}", if unit == "us" { "µs" } else { unit }, after]);
            }
            _ => shown.push_str(word),
        }
        is_option = word.starts_with('-') && word.len() > 2;
    }
    shown
}

/// A word that is a time: what stands before it, its number, its unit, and what stands behind; none for any other word.
fn time(word: &str) -> Option<(&str, &str, &str, &str)> {
    let begin = word.find(|c: char| c != '(' && c != '<' && c != '>')?;
    let (before, rest) = word.split_at(begin);
    let (number, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?);
    let (unit, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len()));
    let is_number = number.starts_with(|c: char| c.is_ascii_digit());
    let is_end = after.trim_end_matches([' ', '.', ',', ';', ':', ')']).is_empty();
    (is_number && is_end && UNITS.contains(&unit)).then_some((before, number, unit, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_sentences_have_a_space_and_values_of_options_none() {
        let shown =
            with_units("median 5.7us (17us here): 239ms, 1.50s. Type --min-lost 5ms; pool_10ms+0x3 <1ns 3x");
        assert_eq!(
            shown,
            "median 5.7\u{a0}µs (17\u{a0}µs here): 239\u{a0}ms, 1.50\u{a0}s. Type --min-lost 5ms; pool_10ms+0x3 <1\u{a0}ns 3x"
        );
    }

    #[test]
    fn commands_are_code_and_single_backticks_parts_of_names() {
        let shown = |text| prose(text).into_string();
        assert_eq!(
            shown("`unspin scale --time-budget 5s` checks\u{1b}."),
            "<bdi class=\"name\"><code>unspin scale --time-budget 5s</code> checks\\u{1b}.</bdi>"
        );
        assert_eq!(shown("a`<b"), "<bdi class=\"name\">a`&lt;b</bdi>");
    }
}
