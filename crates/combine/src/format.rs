//! Numbers and names as text.

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
