//! Tells rates from times and sizes, by the unit or by the name of a figure.

use super::unit::{self, Unit};

/// Names of rates, and of what is counted for one.
const NAMES: [&str; 12] =
    ["tps", "qps", "rps", "iops", "ops", "pps", "bps", "fps", "kbps", "mbps", "gbps", "throughput"];

/// Whether a figure is a rate. `before` and `after` are the rest of its line; what belongs to another number there does not count.
pub fn is_rate(unit: &Unit, before: &str, after: &str) -> bool {
    match unit {
        Unit::Base(base) if base.ends_with("/s") => return true,
        Unit::Base(base) if base == "s" || base.starts_with("s/") => return false,
        _ => (),
    }
    let own = before.rfind(|c: char| c.is_ascii_digit() || ",;".contains(c)).map_or(0, |at| at + 1);
    let behind = after.find(|c: char| c.is_ascii_digit() || ",;".contains(c)).unwrap_or(after.len());
    names_rate(before.get(own..).unwrap_or_default()) || names_rate(&after[..behind])
}

/// Whether a text has the name or the unit of a rate.
pub fn names_rate(text: &str) -> bool {
    let text = text.to_lowercase();
    let is_apart = |c: char| !c.is_alphanumeric();
    let mut last = "";
    for word in text.split(|c: char| is_apart(c) && c != '/') {
        let below = word.rsplit_once('/').map(|(_, below)| below);
        // "min" is a minute only in a rate.
        if NAMES.contains(&word) || last == "per" && unit::is_time(word) || below.is_some_and(unit::is_time) {
            return true;
        }
        if word.split('/').next().is_some_and(|above| NAMES.contains(&above)) {
            return true;
        }
        if !word.is_empty() {
            last = word;
        }
    }
    false
}
