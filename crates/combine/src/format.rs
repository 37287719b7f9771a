//! Numbers and names as text.

use unspin_report::figures::list;
use unspin_stats::Ratio;
use unspin_sys::printable;

/// A text of a file, on one line and without characters that change the state of a terminal.
pub fn clean(text: &str) -> String {
    printable::line(text).replace(['\n', '\r', '\t'], " ")
}

/// "1.50" and "1.40 – 1.60".
pub fn shown(ratio: Ratio) -> (String, String) {
    let (value, [lower, upper]) = ratio.shown();
    (value, format!("{lower} – {upper}"))
}

/// "1 host", "2 hosts".
pub fn hosts(count: usize) -> String {
    if count == 1 { "1 host".into() } else { format!("{count} hosts") }
}

/// "1 result", "2 results".
pub fn results(count: usize) -> String {
    if count == 1 { "1 result".into() } else { format!("{count} results") }
}

/// Most names in a sentence: it does not name a thousand hosts. The JSON has all.
const NAMED: usize = 10;

/// The first of many, and how many more there are, for a list with a separator.
pub fn first_of(mut names: Vec<String>) -> Vec<String> {
    if are_many(&names) {
        let more = names.len() - NAMED;
        names.truncate(NAMED);
        names.push(format!("and {more} more"));
    }
    names
}

/// "n1, n2 and n3"; of many the first, "and 324 more".
pub fn list_first(names: Vec<String>) -> String {
    if are_many(&names) { first_of(names).join(", ") } else { list(&names, "and") }
}

/// Whether a list leaves some out. "And 1 more" would take the room of the name.
fn are_many(names: &[String]) -> bool {
    names.len() > NAMED + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_ten_are_listed() {
        let names = |count: usize| list_first((1..=count).map(|n| format!("n{n}")).collect());
        assert!(names(11).ends_with("n10 and n11"), "{}", names(11));
        assert_eq!(names(334), "n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, and 324 more");
    }
}
