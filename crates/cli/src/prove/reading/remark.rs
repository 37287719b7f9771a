//! What an output says of the unit of a figure that has none: the names of units in its line, in the headings above it and in the
//! strings of its JSON objects.
//!
//! None of them is sure to be the figure's. But if they are other ones in another run, the figures of both runs may have two
//! units, and cannot be compared.

use super::dimension;
use super::elsewhere::Position;
use super::unit;
use std::collections::BTreeSet;

/// Number of lines before the figure's in which headings are searched for.
const HEADING_LINES: usize = 200;
/// Number of headings with units that count.
const HEADINGS: usize = 3;
/// Number of bytes on either side in which the rest of the objects is searched for.
const OBJECT_BYTES: usize = 4096;

/// A word of a line.
struct Word<'a> {
    text: &'a str,
    /// Where it begins.
    begin: usize,
    /// Whether it stands behind "per".
    is_rate: bool,
}

/// The names of units, sorted.
pub fn of(position: &Position<'_>) -> String {
    let mut names = BTreeSet::new();
    let (before, after) = (position.before(), position.after());
    for word in words(before).filter(is_unit) {
        let is_of_other =
            behind_number(before, &word).is_some() && begins_other(&before[word.begin + word.text.len()..]);
        if !is_of_other {
            names.insert(name(&word));
        }
    }
    let noun = words(after).next().filter(|word| after[..word.begin].trim().is_empty());
    let has_noun = noun.is_some_and(|word| !is_unit(&word) && !is_statistic(word.text));
    for word in words(after).filter(is_unit) {
        let is_of_other = behind_number(after, &word)
            .is_some_and(|(number, is_attached)| begins_other(&after[..number]) && (is_attached || has_noun));
        if !is_of_other {
            names.insert(name(&word));
        }
    }
    // "latms: 1", after the expression "lat".
    let label = position.gap.trim_end_matches(|c: char| !c.is_alphanumeric());
    let ends = ["ms", "us", "µs", "ns", "sec"].into_iter().filter(|end| label.ends_with(end));
    names.extend(ends.map(str::to_owned));
    headings(position, &mut names);
    names.extend(strings(position));
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Words are letters; "latMs" and "p99_us" have two.
fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let mut from = 0;
    let mut is_rate = false;
    std::iter::from_fn(move || {
        let begin = from + text[from..].find(is_letter)?;
        let run = &text[begin..];
        let run = &run[..run.find(|c: char| !is_letter(c)).unwrap_or(run.len())];
        let mut letters = run.char_indices().zip(run.chars().skip(1));
        let inner = letters.find(|((at, one), next)| *at > 0 && one.is_lowercase() && next.is_uppercase());
        let length = match inner {
            // "MiB" is one.
            Some(((at, one), _)) if unit::known(run).is_none() => at + one.len_utf8(),
            _ => run.len(),
        };
        from = begin + length;
        let word = Word { text: &text[begin..from], begin, is_rate };
        is_rate = word.text.eq_ignore_ascii_case("per");
        Some(word)
    })
}

fn is_letter(letter: char) -> bool {
    letter.is_alphabetic()
}

/// Whether a word names a unit of time or of bytes, or a prefix.
fn is_unit(word: &Word<'_>) -> bool {
    let lower = word.text.to_lowercase();
    match lower.as_str() {
        // The smallest value, more often than a minute.
        "min" | "mins" => word.is_rate,
        "h" | "d" | "m" => false,
        "milli" | "micro" | "nano" | "pico" | "kilo" | "mega" | "giga" | "tera" => true,
        "nanos" | "kib" | "mib" | "gib" | "tib" | "kb" | "mb" | "gb" | "tb" => true,
        "thousand" | "thousands" | "million" | "millions" | "billion" | "billions" => true,
        "khz" | "mhz" | "ghz" => true,
        _ if unit::is_time(&lower) => true,
        _ => unit::known(word.text)
            .is_some_and(|known| ["B", "KB", "MB", "GB", "TB", "bit", "Hz"].contains(&known.base.as_str())),
    }
}

fn name(word: &Word<'_>) -> String {
    if word.is_rate { format!("per {}", word.text) } else { word.text.to_owned() }
}

fn is_statistic(word: &str) -> bool {
    dimension::is_statistic(word)
}

/// Whether another quantity than the one before is named.
fn begins_other(text: &str) -> bool {
    words(text).any(|word| !is_unit(&word) && !is_statistic(word.text))
}

/// Where the number begins that a word stands behind, and whether without a space. The digits of "p99" are none.
fn behind_number(text: &str, word: &Word<'_>) -> Option<(usize, bool)> {
    let before = &text[..word.begin];
    let trimmed = before.trim_end_matches(|c: char| c.is_whitespace() || "([".contains(c));
    let number = trimmed.trim_end_matches(|c: char| c.is_ascii_digit() || ".,".contains(c));
    let is_number = trimmed.ends_with(|c: char| c.is_ascii_digit())
        && !number.ends_with(|c: char| c.is_alphabetic() || c == '_');
    is_number.then_some((number.len(), trimmed.len() == before.len()))
}

/// The units in the lines above that have no number, or that are less indented than all lines below them.
fn headings(position: &Position<'_>, names: &mut BTreeSet<String>) {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let mut least = indentation(position.before());
    let mut found = 0;
    for line in position.above().lines().rev().take(HEADING_LINES) {
        if line.trim().is_empty() {
            continue;
        }
        let is_less = indentation(line) < least;
        least = least.min(indentation(line));
        if !is_less && has_number(line) {
            continue;
        }
        let units = words(line).filter(|word| is_unit(word) && behind_number(line, word).is_none());
        let units: Vec<String> = units.map(|word| name(&word)).collect();
        found += usize::from(!units.is_empty());
        names.extend(units);
        if found == HEADINGS {
            break;
        }
    }
}

/// Whether a line has a number that is no part of a name: "p99", "99%", "99th".
fn has_number(line: &str) -> bool {
    let mut last = ' ';
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        last = rest[..at].chars().next_back().unwrap_or(last);
        let behind = rest[at..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let is_percentile = behind.starts_with('%') || behind.starts_with("th");
        if !is_percentile && !last.is_alphabetic() && last != '_' {
            return true;
        }
        (last, rest) = ('0', behind);
    }
    false
}

/// The strings that are names of units, in the JSON objects and lists around the figure.
fn strings(position: &Position<'_>) -> Vec<String> {
    let before: String = around(position.output[..position.begin].chars().rev(), ['}', ']'], ['{', '[']);
    let before: String = before.chars().rev().collect();
    if !before.contains(['{', '[']) || !before.contains('"') {
        return Vec::new();
    }
    let after = around(position.output[position.end..].chars(), ['{', '['], ['}', ']']);
    // The figure itself stands between.
    let strings = before.split('"').chain(after.split('"'));
    let strings = strings.filter(|text| text.chars().all(|c| is_letter(c) || c == '/'));
    strings.filter(|text| words(text).next().is_some_and(|word| is_unit(&word))).map(str::to_owned).collect()
}

/// The text without the objects and lists that are closed in it.
fn around(letters: impl Iterator<Item = char>, open: [char; 2], close: [char; 2]) -> String {
    let mut depth = 0_u32;
    let mut text = String::new();
    for letter in letters.take(OBJECT_BYTES) {
        if open.contains(&letter) {
            depth += 1;
        } else if depth == 0 {
            text.push(letter);
        } else if close.contains(&letter) {
            depth -= 1;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::testing::read;

    /// Issue 25: the unit stood elsewhere, and was another one in the next run.
    #[test]
    fn change_of_a_unit_that_stands_elsewhere_is_seen() {
        let cases = [
            ("avg:", "Latency (ms):\n    avg:   1.14", "Latency (us):\n    avg:   900.0"),
            ("avg:", "Latency (ms):\n   min: 0.5\n   avg: 1.14", "Latency (us):\n   min: 500\n   avg: 900.0"),
            ("avg:", "Latency (ms):\n\navg: 1.14", "Latency (us):\n\navg: 900.0"),
            (
                "max\\s+",
                "latency summary (msec):\n avg max\n 0.3 1.5",
                "latency summary (usec):\n avg max\n 300.5 900.5",
            ),
            ("lat,", "name,ms\nlat,1.5", "name,us\nlat,900"),
            ("lat,", "name,ms\nx,7\nlat,1.5", "name,us\nx,7\nlat,900"),
            ("lat", "name 50% (ms) 99% (ms)\nlat 1.5 2", "name 50% (us) 99% (us)\nlat 900 2"),
            ("Latency", "          ms  count\nLatency   1.0  5", "          us  count\nLatency   990  5"),
            ("Latency", "  Avg(ms) p99(ms)\nLatency 1.0 5", "  Avg(us) p99(us)\nLatency 990 5"),
            ("lat=", "lat=1.0,ms", "lat=990,us"),
            ("lat=", "lat=1.0;ms", "lat=990;us"),
            ("lat=", "lat=1.0|ms", "lat=990|us"),
            ("rtt min/avg/max = ", "rtt min/avg/max = 1.0, 2.0 ms", "rtt min/avg/max = 990, 2000 us"),
            (
                "rtt min/avg/max = ",
                "rtt min/avg/max = 1.0 2.0 3.0 ms",
                "rtt min/avg/max = 990.5 2000.5 3000.5 us",
            ),
            ("min=", "rtt min=1.0 avg=2.0 max=3.0 ms", "rtt min=990 avg=2000 max=3000 us"),
            ("min=", "rtt min=1.0 avg=2.0 max=3.0ms", "rtt min=990 avg=2000 max=3000us"),
            ("rtt min/avg/max = ", "rtt min/avg/max = 1.0 - ms", "rtt min/avg/max = 990 - us"),
            ("rtt min/avg/max = ", "rtt min/avg/max = 1.0 avg ms", "rtt min/avg/max = 990 avg us"),
            ("value\":", r#"{"value": 1.0, "uom": "ms"}"#, r#"{"value": 990, "uom": "us"}"#),
            (
                "value\":",
                "{\n\"value\": 1.0,\n\"scale\": \"ms\"\n}",
                "{\n\"value\": 990,\n\"scale\": \"us\"\n}",
            ),
            ("value\":", r#"["ms",{"value":1.0}]"#, r#"["us",{"value":990}]"#),
            (
                "value\":",
                "{\"a\": {\n\"value\": 1.0\n},\n\"in\": \"ms\"\n}",
                "{\"a\": {\n\"value\": 990\n},\n\"in\": \"us\"\n}",
            ),
            ("lat", "latMs: 1.0", "latUs: 990"),
            ("lat", "latms: 1.0", "latus: 990"),
            ("lat", "ms lat 1.0", "us lat 990"),
            ("lat", "lat 1.0 milli", "lat 990 micro"),
            ("size", "size 1.0 in MB", "size 990 in KB"),
            ("size", "size 1.0 in MiB", "size 990 in KiB"),
        ];
        for (expression, one, other) in cases {
            let [one_read, other_read] =
                [one, other].map(|text| read(expression, text).unwrap_or_else(|why| panic!("{text}: {why}")));
            let are_compared = one_read.1 == other_read.1 && one_read.2 == other_read.2;
            assert!(!are_compared || one_read.1 == "s", "{one}: {one_read:?}, {other}: {other_read:?}");
        }
    }

    #[test]
    fn unit_field_of_the_end_of_the_name_converts() {
        for (output, value) in [
            (r#"{"real_time": 1.0, "time_unit": "ms"}"#, 1e-3),
            (r#"{"real_time": 900, "time_unit": "us"}"#, 900e-6),
            ("real_time=1.0 time_unit=ms", 1e-3),
            ("real_time=900 time_unit=us", 900e-6),
        ] {
            let (read, unit, _) = read("real_time\"?[=:] *([0-9.]+)", output).unwrap();
            assert!((read - value).abs() < 1e-12 && unit == "s", "{output}: {read} {unit}");
        }
    }

    /// Units that belong to another number may change, as programs choose them by its size.
    #[test]
    fn units_of_other_figures_are_none_of_this_one() {
        let cases = [
            (
                "IOPS=",
                "  read: IOPS=250, BW=1000KiB/s (1024kB/s)(10MiB/10001msec)",
                "  read: IOPS=270, BW=1.1MiB/s (1106kB/s)(1.1GiB/10.1s)",
            ),
            (
                "iops\\s+:",
                "  read: IOPS=2, BW=9KiB/s\n   iops        : min=  950",
                "  read: IOPS=2, BW=9MiB/s\n   iops        : min=  50",
            ),
            (
                "([0-9,.]+) +context-switches",
                "   950.5      context-switches     #  950.100 /sec",
                "  1,050.5      context-switches     #    1.050 K/sec",
            ),
            ("([0-9,.]+) +cycles", "  985.0  cycles  #  0.950 GHz", "  985.0  cycles  #  950.1 MHz"),
            ("count", "took 900ms, count 5", "took 1.1s, count 5"),
            ("count", "count 5 took 900ms", "count 5 took 1.1s"),
            ("jobs", "jobs 5 of 9 in 900us", "jobs 7 of 9 in 1.1ms"),
            (
                "tps",
                "[ 9s ] thds: 8 tps: 41.5 lat (ms,95%): 1.2",
                "[ 10s ] thds: 8 tps: 42.5 lat (ms,95%): 1.4",
            ),
            ("score", "step 1 took 5 ms\nscore: 7", "step 1 took 5 us\nstep 2\nscore: 7"),
        ];
        for (expression, one, other) in cases {
            let [one_read, other_read] =
                [one, other].map(|text| read(expression, text).unwrap_or_else(|why| panic!("{text}: {why}")));
            assert_eq!(one_read.2, other_read.2, "{one}: {other}");
        }
    }

    #[test]
    fn figures_of_ordinary_outputs_are_comparable() {
        let cases = [
            (
                "transactions:.*\\(([0-9.]+)",
                "    transactions:     1000 (99.90 per sec.)",
                "    transactions:     1200 (119.90 per sec.)",
            ),
            (
                "avg:",
                "Latency (ms):\n     min:    0.50\n     avg:    1.14",
                "Latency (ms):\n     min:    0.40\n     avg:    0.98",
            ),
            (
                "total time:",
                "General statistics:\n  total time:   10.0010s",
                "General statistics:\n  total time:   9.9s",
            ),
            (
                "READ: bw=",
                "   READ: bw=48.1MiB/s (50.4MB/s), io=2885MiB",
                "   READ: bw=1.1GiB/s (1181MB/s), io=1.2GiB",
            ),
            (
                "Requests/sec:",
                "Requests/sec:  950.42\nTransfer/sec:    900.50KB",
                "Requests/sec:  1150.42\nTransfer/sec:    1.09MB",
            ),
            (
                "  Latency",
                "  Thread Stats   Avg   Stdev\n    Latency   635.91us    0.89ms",
                "  Thread Stats   Avg   Stdev\n    Latency   1.21ms    0.89ms",
            ),
            (
                "requests in",
                "12 requests in 10.0s, 1.5MB read\nmore requests in 5",
                "12 requests in 9.0s, 900KB read\nmore requests in 7",
            ),
            (
                "Time per request:",
                "Time per request:       1.234 [ms] (mean)",
                "Time per request:       0.934 [ms] (mean)",
            ),
            (
                "Requests per second:",
                "Requests per second:    810.5 [#/sec] (mean)",
                "Requests per second:    910.5 [#/sec] (mean)",
            ),
            (
                "GET: ([0-9.]+)",
                "GET: 123456.79 requests per second, p50=0.207 msec",
                "GET: 133456.79 requests per second, p50=0.187 msec",
            ),
            (
                "latency average =",
                "latency average = 0.412 ms\ntps = 2427.18",
                "latency average = 0.398 ms\ntps = 2527.18",
            ),
            (
                "tps =",
                "latency average = 0.412 ms\ntps = 2427.18 (without initial connection time)",
                "latency average = 0.398 ms\ntps = 2527.18 (without initial connection time)",
            ),
            (
                "BenchmarkX-8\\s+\\d+\\s+([0-9.]+)",
                "BenchmarkX-8   1000   1234 ns/op   56 B/op",
                "BenchmarkX-8   1200   1034 ns/op   56 B/op",
            ),
            (
                "time:\\s+\\[[0-9.]+ \\S+ ([0-9.]+)",
                "time:   [980.1 us 990.2 us 1.0011 ms]",
                "time:   [1.1 ms 1.2 ms 1.3 ms]",
            ),
            (
                "X.run +thrpt +\\d+ +([0-9.]+)",
                "Benchmark  Mode  Cnt  Score   Error  Units\nX.run  thrpt  5  123.5 ± 1.2  ops/ms",
                "Benchmark  Mode  Cnt  Score   Error  Units\nX.run  thrpt  5  133.5 ± 1.2  ops/ms",
            ),
            (
                "mean ± σ\\):",
                "  Time (mean ± σ):     980.1 µs ±  12.0 µs    [User: 0.5 ms, System: 0.6 ms]",
                "  Time (mean ± σ):     1.2 ms ±  0.1 ms    [User: 500.1 µs, System: 0.6 ms]",
            ),
            (
                "([0-9.]+) +seconds time elapsed",
                "   1.002345678 seconds time elapsed",
                "   0.902345678 seconds time elapsed",
            ),
            (
                "([0-9,]+) +instructions",
                "  985,123,456  instructions  #  1.20  insn per cycle",
                "  885,123,456  instructions  #  1.30  insn per cycle",
            ),
        ];
        for (expression, one, other) in cases {
            let [one_read, other_read] =
                [one, other].map(|text| read(expression, text).unwrap_or_else(|why| panic!("{text}: {why}")));
            assert_eq!((one_read.1, one_read.2), (other_read.1, other_read.2), "{one}: {other}");
        }
    }
}
