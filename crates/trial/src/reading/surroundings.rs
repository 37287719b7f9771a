//! What an output says around a figure of its unit: words and symbols with the numbers masked.
//!
//! None of them is sure to be the figure's unit. But if they are others in another run, the figures of both runs may have two
//! units, and cannot be compared. In the figure's line, and among its siblings in a JSON object, any other word counts. In other
//! lines only what may be a unit or a multiplier counts.

use super::dimension;
use super::elsewhere::Position;
use super::unit;
use regex::{Captures, Regex};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Number of lines on either side that are searched.
const LINES: usize = 2000;
/// Number of headings with units whose order counts.
const HEADINGS: usize = 3;

/// A multiplier such as "x1000" or `[1e3]`; an identifier; a name with the digits in it; a number with what is attached to it; a symbol.
static TOKENS: LazyLock<Regex> = LazyLock::new(|| {
    let multiplier = r#"[(\[]\s*(?:1[eE]\+?\d+|10(?:\^|\*\*)\d+|10{3,})\s*[)\]]|\b10{2,}s\b|(?:\b1[eE]|\b10\^|\b10\*\*)[-+]?\d+\b|(?i:\b(?:scal(?:e|ing)(?:[ _]factor)?|mult(?:iplier)?|exp(?:onent)?)["']?[\s:=]+["']?[-+]?\d[\w.^+-]*)|\bx\d+\b|(?:×\s?\d+|(?:\bx|\B\*)\s?10+\b)(?:(?:\^|\*\*)[-+]?\d+)?"#;
    let identifier = r"\b[0-9a-f]*[0-9][0-9a-f]*-[0-9a-f-]+\b|\b(?:[a-f]+[0-9]+|[0-9]+[a-f]+)[0-9a-f]{5,}\b";
    let number = r"\.?\d[\w.,:']*(?:/\p{L}+)?[%‰]?";
    let regex = format!(
        r"(?P<multiplier>{multiplier})|(?P<identifier>{identifier})|(?P<name>\p{{L}}[\p{{L}}\d_]*)|(?P<number>{number})|[%‰°/€$£¥]"
    );
    Regex::new(&regex).expect("the expression is valid")
});

/// The only word in brackets, or the last word of a line behind "in": "(ms)", "times in ms:".
static STATED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[(\[]\s*([\p{L}%/]+)\s*[)\]]|\bin\s+([\p{L}%/]+)\W*$").expect("the expression is valid")
});

/// The string that is the value of a field.
static STRING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#":\s*"([\p{L}%/ ]+)""#).expect("the expression is valid"));

/// The value that is a number, or the first of several, behind a name with its unit: "(usec): min=1".
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)^[\s)\]"']*[:=]\s*(?:\p{L}[^\s:=]*\s*[:=]\s*)?[\[("]?\s*[-+]?(?:\.?\d|nan|inf|n/a)"#)
        .expect("the expression is valid")
});

/// A part of a line.
struct Token {
    text: String,
    begin: usize,
    end: usize,
    is_number: bool,
    is_multiplier: bool,
}

/// What stands around a figure, of which `behind` follows the number and its unit. A figure that has a unit of its own needs less:
/// what divides it, and multipliers.
pub fn of(position: &Position<'_>, behind: &str, has_unit: bool) -> Vec<String> {
    let before = position.before();
    if has_unit {
        let own = tokens(before).into_iter().chain(tokens(behind));
        let multipliers = own.filter(|token| token.is_multiplier).map(|token| token.text);
        return multipliers.chain(position.rates(behind)).collect();
    }
    let after = position.after();
    let mut words = own_line(before, Side::Before);
    words.push("#".into());
    words.extend(own_line(after, Side::After { from: after.len() - behind.len() }));
    words.extend(siblings(position));
    words.extend(elsewhere(position));
    words
}

fn tokens(line: &str) -> Vec<Token> {
    let token = |captures: Captures<'_>| {
        let whole = captures.get(0).expect("a match has a whole");
        let is = |name| captures.name(name).is_some();
        let text = whole.as_str();
        // "error: 1e-5" is a value.
        let is_value = text.starts_with('1') && line[..whole.start()].trim_end().ends_with([':', '=']);
        let is_multiplier = is("multiplier") && !is_value;
        let is_number = is("number") || is("identifier") || is("multiplier") && is_value;
        let is_nothing = is("name") && super::no_figure(text).is_some();
        let text = match () {
            () if is_number || is_nothing => "#".to_owned(),
            // "p99", "p50".
            () if is("name") => unit::singular(&text.replace(|c: char| c.is_ascii_digit(), "#")).to_owned(),
            () => text.split_whitespace().collect(),
        };
        Token { text, begin: whole.start(), end: whole.end(), is_number, is_multiplier }
    };
    TOKENS.captures_iter(line).map(token).collect()
}

/// The side of the figure in its line.
#[derive(Clone, Copy)]
enum Side {
    Before,
    /// Behind it. The figure's own unit ends at `from`.
    After {
        from: usize,
    },
}

/// The words of the figure's line on one side, with one mask for adjacent numbers. Units that certainly belong to other numbers are
/// left out: those attached to the number of another quantity, and those behind a space where a comment or another part begins.
fn own_line(text: &str, side: Side) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut from = match side {
        Side::Before => 0,
        Side::After { from } => from,
    };
    for token in tokens(text) {
        if token.begin < from {
            continue;
        }
        let mut word = token.text;
        if token.is_number {
            let between = match side {
                Side::Before => &text[token.end..],
                Side::After { .. } => &text[..token.begin],
            };
            let spaced = text[token.end..].trim_start_matches([' ', '\u{a0}']);
            let unit = unit::leading_word(spaced);
            let unit_end = text.len() - spaced.len() + unit.len();
            let is_apart = match side {
                Side::Before => names_other(text[unit_end..].trim_start_matches(|c| !",;|".contains(c))),
                // A comment, as perf prints it.
                Side::After { .. } => between.contains('#'),
            };
            if is_apart && !unit.is_empty() && unit::known(unit).is_some() {
                from = unit_end;
            }
            if !names_other(between) {
                let number = &text[token.begin..token.end];
                word.push_str(number.trim_start_matches(|c: char| c.is_ascii_digit() || ".,:'_".contains(c)));
            }
        }
        if word != "#" || words.last().is_none_or(|last| last != "#") {
            words.push(word);
        }
    }
    words
}

/// Whether a text names another quantity, and not only another value of the same.
fn names_other(text: &str) -> bool {
    let is_name = |word: &str| word.len() > 1 && !dimension::is_statistic(word) && !may_be_unit(word);
    text.split(|c: char| !c.is_alphabetic()).any(is_name)
}

fn lines(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(['\r', '\n'])
}

/// The strings that are fields of the same JSON object, printed line by line.
fn siblings(position: &Position<'_>) -> Vec<String> {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let before = position.before();
    let own = indentation(before);
    if !before.trim_end().ends_with("\":") {
        return Vec::new();
    }
    let is_inside = |line: &&str| {
        line.trim().is_empty() || indentation(line) >= own && !line.trim_start().starts_with('{')
    };
    let of_line = |line: &str| STRING.captures(line).map(|string| string[1].to_owned());
    let above = lines(position.above()).rev().take(LINES).take_while(is_inside);
    let below = lines(position.below()).take(LINES).take_while(is_inside);
    above.chain(below).filter(|line| indentation(line) == own).filter_map(of_line).collect()
}

/// What may be a unit in other lines: in the nearest headings, in the nearest line below, and anywhere.
fn elsewhere(position: &Position<'_>) -> Vec<String> {
    let units = |line: &str| Some(units(line)).filter(|units| !units.is_empty());
    let above: Vec<Vec<String>> = lines(position.above()).rev().take(LINES).filter_map(units).collect();
    let below: Vec<Vec<String>> = lines(position.below()).take(LINES).filter_map(units).collect();
    let all: BTreeSet<&String> = above.iter().chain(&below).flatten().collect();
    let mut headings: Vec<&Vec<String>> = above.iter().collect();
    headings.dedup();
    headings.truncate(HEADINGS);
    let near = headings.into_iter().chain(below.first()).flatten();
    near.chain(all).cloned().collect()
}

/// The units of a line that belong to no number in it.
fn units(line: &str) -> Vec<String> {
    let tokens = tokens(line);
    let mut units = Vec::new();
    let has_value = |from: usize| VALUE.is_match(&line[from..]);
    for (at, token) in tokens.iter().enumerate() {
        let last = at.checked_sub(1).map(|at| &tokens[at]);
        let gap = &line[last.map_or(0, |last| last.end)..token.begin];
        let is_behind_number = last.is_some_and(|last| last.is_number) && gap.trim().is_empty();
        // "thread(s)", "it's".
        let is_ending = token.text == "s" && gap.ends_with(['(', '\'', '’']);
        let is_quoted = line[..token.begin].ends_with('"') && line[token.end..].starts_with('"');
        let is_rate =
            last.is_some_and(|last| last.text.eq_ignore_ascii_case("per")) && unit::is_time(&token.text);
        let is_unit = token.is_multiplier || is_rate || token.text.split('_').any(may_be_unit);
        if is_unit && !is_behind_number && !is_ending && (is_quoted || !has_value(token.end)) {
            units.push(if is_rate { format!("per {}", token.text) } else { token.text.clone() });
        }
    }
    for stated in STATED.captures_iter(line) {
        let whole = stated.get(0).expect("a match has a whole");
        let before = line[..whole.start()].trim_end();
        if !has_value(whole.end()) && !before.ends_with(|c: char| c.is_ascii_digit()) {
            let word = stated.get(1).or(stated.get(2)).map_or("", |word| word.as_str());
            units.push(word.to_owned());
        }
    }
    units
}

/// Whether a word may be a unit, a prefix or a scale.
fn may_be_unit(word: &str) -> bool {
    let lower = word.to_lowercase();
    match lower.as_str() {
        "" | "#" => false,
        // "min" is the smallest value more often than a minute.
        "min" | "mins" | "h" | "d" | "m" | "p" | "t" | "g" | "k" | "x" | "op" | "ops" => false,
        _ => {
            // Words of other scripts that are as short as symbols of units.
            !word.is_ascii() && word.chars().count() <= 3
                || unit::is_time(&lower)
                || unit::is_scale(&lower)
                || unit::is_physical(word)
                || unit::known(word).is_some_and(|known| {
                    ["B", "KB", "MB", "GB", "TB", "bit", "Hz", "%"].contains(&known.base.as_str())
                })
        }
    }
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
            // Issue 25: headings with numbers, lines below, and objects that are closed.
            ("avg:", "Latency with 8 threads (us):\navg: 900", "Latency with 8 threads (ms):\navg: 0.9"),
            ("avg:", "Latency (us), 8 threads:\navg: 900", "Latency (ms), 8 threads:\navg: 0.9"),
            ("avg:", "# 2 threads, us\navg: 900", "# 2 threads, ms\navg: 0.9"),
            (
                "avg:",
                "Run 1 latencies in microseconds\navg: 900",
                "Run 1 latencies in milliseconds\navg: 0.9",
            ),
            ("avg:", "Latencies in jiffies:\navg: 900", "Latencies in ticks:\navg: 0.9"),
            ("avg:", "Power, 8 threads (mW)\navg: 900", "Power, 8 threads (W)\navg: 0.9"),
            ("avg:", "A (us)\navg: 900\nB (ms)\np99: 7", "A (ms)\navg: 0.9\nB (us)\np99: 7"),
            ("avg:", "avg: 900\nall times in us", "avg: 0.9\nall times in ms"),
            ("avg:", "avg: 900\np99: 950\n(us)", "avg: 0.9\np99: 0.95\n(ms)"),
            (
                "lat\":",
                "{\n  \"lat\": 1450,\n  \"units\": {\n    \"lat\": \"us\"\n  }\n}",
                "{\n  \"lat\": 1.45,\n  \"units\": {\n    \"lat\": \"ms\"\n  }\n}",
            ),
            (
                "lat\":",
                r#"{"lat": 1450, "units": {"lat": "us"}}"#,
                r#"{"lat": 1.45, "units": {"lat": "ms"}}"#,
            ),
            (
                "lat\":",
                "{\n  \"lat\": 1450,\n  \"dim\": \"blinks\"\n}",
                "{\n  \"lat\": 1.45,\n  \"dim\": \"winks\"\n}",
            ),
            ("mean=", "mean=900 count=12 us", "mean=0.9 count=12 ms"),
            ("power:", "power: 900 mW", "power: 1.1 W"),
            ("energy:", "energy: 900 J", "energy: 1 kJ"),
            ("rate:", "rate: 1.5 bn", "rate: 900 mn"),
            ("rate:", "rate: 1.5 Mio", "rate: 900 Tsd"),
            ("n:", "n: 12 hundred", "n: 100 tens"),
            ("lat:", "lat: 900 mcs", "lat: 1 mls"),
            ("rate:", "rate: 420 / min", "rate: 25200 / h"),
            ("rate:", "rate: 420 MB / min", "rate: 25200 MB / h"),
            (r"\]: ", "n [1e3]: 5", "n [1e6]: 0.005"),
            ("n:", "n: 5 (x1000)", "n: 600 (x1)"),
            ("n:", "n: 5 ms (x1000)", "n: 600 ms (x1)"),
            ("avg:", "unit: ms, threads: 16\navg: 0.9", "unit: us, threads: 16\navg: 900"),
            ("avg:", "lat_ms, 16 threads:\navg: 0.9", "lat_us, 16 threads:\navg: 900"),
            ("avg:", "avg: 0.9\n(times 1e-3 s)", "avg: 900\n(times 1e-6 s)"),
            ("avg:", "avg: 0.9\nvalues x 10^3", "avg: 900\nvalues x 10^6"),
            ("avg:", "threads=16 [ms]\navg: 0.9", "threads=16 [us]\navg: 900"),
            ("avg:", "avg: 0.9\nscale: 1000", "avg: 900\nscale: 1"),
            ("avg\":", r#"{"avg": 5, "mult": 1000}"#, r#"{"avg": 7, "mult": 1}"#),
            ("avg:", "avg: 5 MB every minute", "avg: 7 MB every second"),
            ("avg:", "avg: 5 ms per 10 requests", "avg: 7 ms per 1 request"),
            ("n:", "n: 5 (in thousands)", "n: 600 (in hundreds)"),
            ("n:", "numbers are 1000s of bytes\nn: 5", "numbers are 1000000s of bytes\nn: 600"),
            ("n:", "numbers are in blinks, 5 of them\nn: 5", "numbers are in ms, 5 of them\nn: 600"),
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
                "tps:",
                "[pid 4711] step 1\nstep 2 took 900 us\ntps: 5\nlog /tmp/a1b2-7f3c",
                "[pid 815] step 1\nstep 2 took 1.2 ms\nstep 3 took 7 s\ntps: 6\nlog /tmp/b7",
            ),
            (
                "avg=",
                "  lat (usec): min=1, avg=950.5\n  lat (usec): 250=5.5%",
                "  lat (msec): min=1, avg=1.5\n  lat (msec): 2=7.5%",
            ),
            (
                "GET:",
                "GET: rps=0.0 avg_msec=-nan (overall: -nan)\rGET: 36144.58 requests per second, p50=0.655 msec",
                "GET: 36244.58 requests per second, p50=0.655 msec",
            ),
            ("x", "x 12 foo 3", "x 13 foo 4"),
            ("IOPS=", "IOPS=12.3k, BW=48.1MiB/s (50.5MB/s)", "IOPS=950, BW=900KiB/s (921kB/s)"),
            (
                "fps=",
                "frame=  100 fps= 25 q=28.0 size=     256kB bitrate= 524.3kbits/s speed=1.02x",
                "frame=  102 fps= 27 q=-1.0 size=     1.1MB bitrate= 1.3Mbits/s speed=0.98x",
            ),
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
