//! Tells times from rates and from anything else, by the unit, the name or the heading of a figure.

use super::elsewhere::Position;
use super::unit::{self, Unit};

/// What kind of quantity a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Of which less is better.
    Time,
    /// Of which more is better mostly.
    Rate,
    /// A count, a score, a size, or not known.
    Other,
}

/// Names of rates, and of what is counted for one.
const RATES: [&str; 15] = [
    "tps",
    "qps",
    "rps",
    "iops",
    "ops",
    "pps",
    "bps",
    "fps",
    "kbps",
    "mbps",
    "gbps",
    "throughput",
    "bandwidth",
    "rate",
    "speed",
];

/// Names of times, beside those of their units.
const TIMES: [&str; 15] = [
    "time",
    "runtime",
    "walltime",
    "wall",
    "real",
    "elapsed",
    "latency",
    "latencies",
    "lat",
    "clat",
    "slat",
    "duration",
    "delay",
    "rtt",
    "took",
];

/// Behind them stands what a quantity belongs to: "time per request", "jobs in wall time".
const PREPOSITIONS: [&str; 14] =
    ["per", "in", "of", "for", "over", "each", "every", "with", "within", "by", "at", "on", "from", "during"];

/// Names of the values of one quantity, and what joins them.
const STATISTICS: [&str; 38] = [
    "and",
    "average",
    "avg",
    "best",
    "dev",
    "deviation",
    "distribution",
    "high",
    "low",
    "lower",
    "max",
    "maximum",
    "mdev",
    "mean",
    "med",
    "median",
    "min",
    "minimum",
    "or",
    "p",
    "pct",
    "percentile",
    "sd",
    "sigma",
    "st",
    "statistics",
    "stats",
    "std",
    "stddev",
    "stdev",
    "summary",
    "th",
    "to",
    "total",
    "upper",
    "var",
    "worst",
    "σ",
];

impl Dimension {
    /// That of a figure with this unit. Without a unit its own words in its line decide, else the heading above it.
    pub fn of(unit: &Unit, position: &Position<'_>) -> Dimension {
        match unit {
            Unit::Base(base) if base.ends_with("/s") => return Dimension::Rate,
            Unit::Base(base) if base == "s" || base.starts_with("s/") => return Dimension::Time,
            _ => (),
        }
        let (before, after) = (position.before(), position.after());
        // What belongs to another number of the line does not count.
        let is_end = |c: char| c.is_ascii_digit() || ",;".contains(c);
        let own = before.rfind(is_end).map_or(before, |at| without_unit(&before[at..]));
        let behind = after.find(is_end).unwrap_or(after.len());
        let behind = &after[..behind];
        let name = if words(own).next().is_some() { own } else { behind };
        let dimension = if names_rate(behind) { Dimension::Rate } else { dimension_of_words(name) };
        match (dimension, unit) {
            // Under a heading stand statistics of the same quantity, and other quantities.
            (Dimension::Other, Unit::Base(base)) if base.is_empty() && words(name).all(is_statistic) => {
                heading(position).map_or(Dimension::Other, dimension_of_words)
            }
            // A time in an unknown unit is none that is known to be one.
            (Dimension::Time, Unit::Base(base)) if !base.is_empty() => Dimension::Other,
            (dimension, _) => dimension,
        }
    }
}

/// What follows the end of a number and the unit behind it: "9 sec): " of a text with 99 seconds.
fn without_unit(text: &str) -> &str {
    let behind = &text[1..];
    let word = behind.trim_start_matches(' ');
    let rest = word.trim_start_matches(char::is_alphabetic);
    if unit::is_time(&word[..word.len() - rest.len()]) { rest } else { behind }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty())
}

/// Whether it names a value of a quantity, and no quantity.
pub fn is_statistic(word: &str) -> bool {
    STATISTICS.contains(&word.to_lowercase().as_str())
}

/// The nearest line above that is less indented than the figure's, or the nearest without a number.
fn heading<'a>(position: &'a Position<'_>) -> Option<&'a str> {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let own = indentation(position.before());
    let is_heading = |line: &&str| {
        let is_bare = !line.contains(|c: char| c.is_ascii_digit());
        !line.trim().is_empty() && (indentation(line) < own || is_bare)
    };
    position.above().lines().rev().find(is_heading)
}

fn dimension_of_words(text: &str) -> Dimension {
    if names_rate(text) {
        return Dimension::Rate;
    }
    match is_name_of_time(text) {
        true => Dimension::Time,
        false => Dimension::Other,
    }
}

/// Whether a name such as "mean response time (ms)" is that of a time: its last noun before a preposition is, or it has only a unit.
pub fn is_name_of_time(text: &str) -> bool {
    let names = words(text).flat_map(humps).map(|word| word.to_lowercase());
    let names = names.filter(|word| !is_statistic(word)).collect::<Vec<_>>();
    let end = names.iter().skip(1).position(|word| PREPOSITIONS.contains(&word.as_str()));
    let names = &names[..end.map_or(names.len(), |end| end + 1)];
    // "min" is a statistic, and a letter may stand for anything.
    let is_unit = |word: &&String| unit::is_time(word);
    let is_time = |word: &str| TIMES.contains(&word);
    // "time used".
    let mut nouns = names.iter().filter(|word| !is_unit(word) && (is_time(word) || !word.ends_with("ed")));
    match nouns.next_back() {
        Some(noun) => is_time(noun),
        None => names.iter().any(|word| word.len() > 1 && is_unit(&word)),
    }
}

/// The parts of "responseTimeMs".
fn humps(word: &str) -> impl Iterator<Item = &str> {
    let mut last = ' ';
    let mut begins = vec![0];
    for (at, letter) in word.char_indices() {
        if letter.is_uppercase() && last.is_lowercase() {
            begins.push(at);
        }
        last = letter;
    }
    let ends: Vec<usize> = begins.iter().skip(1).copied().chain([word.len()]).collect();
    begins.into_iter().zip(ends).map(|(begin, end)| &word[begin..end])
}

/// Whether a text has the name or the unit of a rate.
pub fn names_rate(text: &str) -> bool {
    let text = text.to_lowercase();
    let is_apart = |c: char| !c.is_alphanumeric();
    let mut last = "";
    for word in text.split(|c: char| is_apart(c) && c != '/') {
        let below = word.rsplit_once('/').map(|(_, below)| below);
        let is_below_time = |below: &str| unit::is_time(below) || TIMES.contains(&below);
        // "min" is a minute only in a rate.
        if RATES.contains(&word) || last == "per" && unit::is_time(word) || below.is_some_and(is_below_time) {
            return true;
        }
        if word.split('/').next().is_some_and(|above| RATES.contains(&above)) {
            return true;
        }
        if !word.is_empty() {
            last = word;
        }
    }
    false
}
