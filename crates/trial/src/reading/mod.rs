//! Reads a figure out of a program's output: the whole number, with its unit, or nothing.
//!
//! A half-read number would prove something that is not true. So whatever follows the digits is read with them, or the
//! figure is refused; and figures of one session are converted to one base unit, or refused. docs/measuring.md has the
//! rules.

mod dimension;
mod elsewhere;
mod escape_sequences;
mod last_line;
mod literal;
mod number;
pub mod rate_expression;
mod surroundings;
#[cfg(test)]
mod testing;
mod unit;
mod whole_figure;

pub use dimension::Dimension;
use elsewhere::Position;
pub use number::{DecimalSign, step_of};
use regex::{Captures, Regex, RegexBuilder};
use std::borrow::Cow;
pub use unit::{Unit, seconds_of_part};
use unspin_sys::printable;
use whole_figure::{Marked, whole_figure};

/// A figure in its base unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The value.
    pub value: f64,
    /// The distance between neighbouring values with as many digits.
    pub step: f64,
    /// The unit with which it was printed, in base units; none of a time in several parts.
    pub printed_unit: Option<f64>,
    /// The base unit.
    pub unit: Unit,
    /// What the number tells about the decimal sign of the program.
    pub sign: DecimalSign,
    /// The text around it that may state its unit.
    pub surroundings: Vec<String>,
    /// What kind of quantity it is.
    pub dimension: Dimension,
    /// The line of the output, to be shown.
    pub line: String,
}

impl Reading {
    /// A time whose parts have said their units.
    fn of_time(seconds: f64, step: f64) -> Reading {
        let (unit, sign) = (Unit::Base("s".into()), DecimalSign::Unknown);
        Reading {
            value: seconds,
            step,
            printed_unit: None,
            unit,
            sign,
            surroundings: Vec::new(),
            dimension: Dimension::Time,
            line: String::new(),
        }
    }
}

/// The text without the escape sequences of terminals.
pub fn without_escape_sequences(text: &str) -> Cow<'_, str> {
    escape_sequences::remove(text)
}

/// A regular expression that finds a figure: by a group around it, or by the text before it.
#[derive(Debug)]
pub struct Expression {
    compiled: Regex,
    has_group: bool,
    /// For each group the text that must follow it.
    literals: Vec<String>,
}

/// The beginning of a number. The text between the expression and the number has no other digit.
const BEGINNING: &str = r"(?P<unspin_gap>[^0-9\r\n]*?)(?P<unspin_figure>[-+−]?\.?[0-9])";

/// Number of characters of a line that are shown.
const LINE_COLUMNS: usize = 120;

impl Expression {
    /// Compiles it. If it has no group, the next number after it is meant.
    pub fn compile(expression: &str) -> Result<Expression, regex::Error> {
        // `^` and `$` mean the ends of lines, as in grep(1).
        let compile = |expression: &str| RegexBuilder::new(expression).multi_line(true).crlf(true).build();
        let compiled = compile(expression)?;
        let has_group = compiled.captures_len() > 1;
        let compiled = if has_group { compiled } else { compile(&format!("(?:{expression}){BEGINNING}"))? };
        Ok(Expression { compiled, has_group, literals: literal::behind_groups(expression) })
    }

    /// The last figure, because programs print progress first and results at the end; or the reason why it cannot be read,
    /// with its line. None if there is none.
    pub fn last(&self, output: &str) -> Option<Result<Reading, String>> {
        let output = escape_sequences::remove(output);
        let (mut from, mut last) = (0, None);
        while let Some(found) = self.compiled.captures_at(&output, from) {
            let (begin, read) = self.read(&output, &found, false);
            // The next search begins after this number, so that its own digits are not another one.
            let length = read.as_ref().map_or(0, |(_, length)| *length);
            let end = found.get(0).map_or(begin, |all| all.end());
            let next = (begin + length).max(if self.has_group { end } else { begin });
            let named = found.name("unspin_gap").map_or(begin, |gap| gap.start());
            last = Some((found, named));
            from = match output[next..].chars().next() {
                _ if next > from => next,
                Some(character) => next + character.len_utf8(),
                None => break,
            };
        }
        let (found, named) = last?;
        // The search for the unit reads many lines, so it is made for the last figure only.
        let (begin, read) = self.read(&output, &found, true);
        let line = line_at(&output, begin);
        let read = read.map(|(reading, _)| Reading { line: line.clone(), ..reading });
        if read.is_ok()
            && let Some(later) = last_line::without_figure(&output, named, begin)
        {
            let line = line_at(&output, later);
            return Some(Err(format!("a later line of the same form has no number; its line: {line}")));
        }
        let read = read.and_then(|reading| match reading.sign {
            DecimalSign::PointOrThousands if DecimalSign::is_comma_in(&output) => Err(
                "the output has another number with a decimal comma, so this point may separate thousands; print one form"
                    .into(),
            ),
            _ => Ok(reading),
        });
        Some(read.map_err(|why| format!("{why}; its line: {line}")))
    }

    /// The position of a figure, and the figure with its length in bytes.
    fn read(
        &self,
        output: &str,
        found: &Captures<'_>,
        has_surroundings: bool,
    ) -> (usize, Result<(Reading, usize), String>) {
        let groups = found.iter().skip(1).enumerate();
        let (index, group) = match self.has_group {
            true => groups.filter_map(|(index, group)| Some((index, group?))).next().unzip(),
            false => (None, found.name("unspin_figure")),
        };
        let (Some(all), Some(group)) = (found.get(0), group) else {
            let begin = found.get(0).map_or(0, |all| all.start());
            return (begin, Err("the group in parentheses has matched nothing".into()));
        };
        let blank = group.as_str().len() - group.as_str().trim_start().len();
        let begin = group.start() + blank;
        let line = output[begin..].split(['\r', '\n']).next().unwrap_or_default();
        let line_begin = output[..begin].rfind(['\r', '\n']).map_or(0, |at| at + 1);
        let marked = match self.has_group {
            false => None,
            true => Some(Marked {
                length: group.as_str().trim().len().min(line.len()),
                is_followed_by_match: all.end() > group.end(),
                literal: index.and_then(|index| self.literals.get(index)).map_or("", String::as_str),
            }),
        };
        if let Some(word) = found.name("unspin_gap").and_then(|gap| no_figure(gap.as_str())) {
            return (begin, Err(format!("\"{word}\" stands in place of the number")));
        }
        let label = &output[all.start().clamp(line_begin, begin)..begin];
        let gap = found.name("unspin_gap").map_or(label, |gap| gap.as_str());
        let position = Position { output, begin, end: begin, gap, has_surroundings };
        (begin, whole_figure(&output[line_begin..begin], label, line, marked, position))
    }
}

/// The word that a program prints in place of a number, such as "n/a", if the text between the name and the found
/// number has one. The found number then belongs to another figure.
fn no_figure(gap: &str) -> Option<&str> {
    let words = gap.split(|c: char| c.is_whitespace() || ":=,;()[]".contains(c));
    let is_none = |word: &&str| {
        ["nan", "-nan", "inf", "-inf", "infinity", "n/a", "na", "null", "none", "undefined"]
            .contains(&word.to_lowercase().as_str())
            // Digits that are not ASCII's.
            || word.contains(char::is_numeric)
    };
    words.into_iter().find(is_none)
}

/// The line around a position, on one line of a terminal.
fn line_at(text: &str, at: usize) -> String {
    let begin = text[..at].rfind(['\r', '\n']).map_or(0, |end| end + 1);
    let line = text[begin..].split(['\r', '\n']).next().unwrap_or_default().trim();
    let shown: String = line.chars().take(LINE_COLUMNS).collect();
    let dots = if shown.len() < line.len() { "…" } else { "" };
    format!("\"{}{dots}\"", printable::line(&shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(expression: &str, output: &str) -> Option<Result<(f64, String), String>> {
        let read = Expression::compile(expression).unwrap().last(output)?;
        Some(read.map(|reading| (reading.value, reading.unit.to_string())))
    }

    fn reads(expression: &str, output: &str, value: f64, unit: &str) {
        let (read, named) = last(expression, output).unwrap().unwrap_or_else(|why| panic!("{output}: {why}"));
        assert!((read - value).abs() <= 1e-12 * value.abs(), "{output}: {read}");
        assert_eq!(named, unit, "{output}");
    }

    #[test]
    fn figures_are_read_with_their_units() {
        let cases = [
            ("time: 0,985 s", 0.985, "s"),
            ("time: 1.23±0.04ms", 0.00123, "s"),
            ("time: 1.23 +/- 0.04 ms", 0.00123, "s"),
            ("time: 1.23(4) ms", 0.00123, "s"),
            ("time: 1.5 Milliseconds", 0.0015, "s"),
            ("time: 1.45ms", 0.00145, "s"),
            ("time: 85us", 85e-6, "s"),
            ("time: 85 µs.", 85e-6, "s"),
            ("time: 12k", 12_000.0, "no unit"),
            ("time: 0:02.50", 2.5, "s"),
            ("time: 1:02:03", 3723.0, "s"),
            ("time: 2m30s", 150.0, "s"),
            ("time: 2m 30.5s", 150.5, "s"),
            ("time: 0m1.234s", 1.234, "s"),
            ("time: 1h5m", 3900.0, "s"),
            ("time: 1d 2h", 93_600.0, "s"),
            ("time: 1 min 30 s", 90.0, "s"),
            ("time: 2m 30s 500ms", 150.5, "s"),
            ("time: 1 Min 50 Sec", 110.0, "s"),
            ("time: 2 Hrs", 7200.0, "s"),
            ("time: 12\x1b[4C34", 12.0, "no unit"),
            ("time: 12\x1b[2;30H34", 12.0, "no unit"),
            ("time: 12\x1b[K\x1b[1B34", 12.0, "no unit"),
            ("time: 1.21s   635.91ms   12.92ms", 1.21, "s"),
            ("time: 5 s (mean) 900.5 ms", 5.0, "s"),
            ("time: 5m", 5.0, "m"),
            ("time: 3 h", 10_800.0, "s"),
            ("time: \x1b[32m1.5\x1b[0ms", 1.5, "s"),
            ("time: \x1b[1;32m12.5\x1b[0m (best)", 12.5, "(best"),
            ("time (ms): 1450", 1.45, "s"),
            ("time [us] = 85", 85e-6, "s"),
            ("time: 12 (ms)", 0.012, "s"),
            ("time: 1,234,567.5/s", 1_234_567.5, "/s"),
            ("time: 12.5 MiB/s", 13_107_200.0, "B/s"),
            ("time: 7 transactions", 7.0, "transactions"),
            ("time: 50%", 50.0, "%"),
            ("time: 5, 6", 5.0, "no unit"),
            ("time: 12.5.", 12.5, "no unit"),
            ("\"time\":12,\"x\":3", 12.0, "no unit"),
            ("time=5ms,other=6", 0.005, "s"),
            ("time ......: 5", 5.0, "no unit"),
            ("time --- 5", 5.0, "no unit"),
            ("time: -5", -5.0, "no unit"),
            ("time: 635.91us    0.89ms   12.92ms", 635.91e-6, "s"),
            ("time: 5\rtime: 6", 6.0, "no unit"),
            ("time: 1.5e3", 1500.0, "no unit"),
        ];
        for (output, value, unit) in cases {
            let unit = unit.trim_start_matches('(');
            reads("time", output, value, unit);
        }
    }

    #[test]
    fn figures_that_go_on_are_refused_with_their_line() {
        let cases = [
            "time: 1,234",
            "time: 1,234 ms",
            "time: 2m30",
            "time: 12abc",
            "time: 0x1f",
            "time: 5-10",
            "time: 1/2",
            "time: 2024-01-02",
            "time: 1.2.3",
            "time: 5°C",
            "time: 5²",
            "time: 5€",
            "time: 1.5×10^3",
            "time: 1.5*10",
            "time: 3:75",
            "time: 12 345",
            "time: 5s 300ms",
            "time_p99: 5",
            "time: 5_x",
            "time: 1.5m30s",
            "time: [5,6]",
            "time: 5ms7",
            "time: 1:2:3:4",
            "time,5,6",
            "time: 2m90s",
            "time: 5+6",
            "time: 30s2m",
            "time: nan (5 samples)",
            "time: N/A, errors 1",
            "time: 1h 30",
            "time: 1 minute, 59 seconds",
            "time: 1 minute and 59 seconds",
            "time: 1 day, 0:00:05",
            "time: 1:30 h",
            "time: 1.2 - 1.5 ms",
            "time: 1.2 to 1.5 ms",
            "time: 1.2 x 10^3",
            "time: 1.2 e3",
            // Issue 25: half of the number was read.
            "time: 2 · 10^3",
            "time: 2 * 10**3",
            "time: 2 ⋅ 10^3",
            "time: 2**10",
            "time: 5 x 1000",
            "time: 1 min. 50 s",
            "time: 1 min. 50.5 s",
            "time: 1 min.50 s",
            "time: 2 minute(s) 30 second(s)",
            "time: 2 min: 50 s",
            "time: 1 s. 900 ms",
            "time: 1 sec., 900 msec.",
            "time: 1 s + 900 ms",
            "time: 1 s & 900 ms",
            "time: 1 s; 900 ms",
            "time: 1 s and 900.5 ms",
            "time: 1 s 900.5 ms",
            "time: 1 hour(s) 50 minutes",
            "time: 2 days and 3:00:00",
            "time: 3h:50m",
            "time: 2 Stunden 30 Minuten",
            "time: 2 weeks 3 days",
            "time: 1' 30\"",
            "time: 1′ 30″",
            "time: 10.0.0.1",
            "time: 192.168.100.200",
            "time: 12мс",
            "time: 12毫秒",
            "time: 12㎳",
        ];
        for output in cases {
            let read = last("time", output).unwrap();
            let why = read.expect_err(output);
            assert!(why.ends_with(&format!("; its line: \"{output}\"")), "{why}");
        }
    }

    #[test]
    fn group_marks_a_whole_number() {
        reads(r"(\d+) of \d+ done", "3 of 9 done, 8 of 9 done", 8.0, "of");
        reads(r"took (\d+)ms", "took 12ms", 0.012, "s");
        reads(r"tps = ([0-9.]+)", "tps = 12.5 (without)", 12.5, "without");
        reads(r"x ([\d ]+)", "x 12 345 678 y", 12_345_678.0, "y");
        reads(r"GET: (\d+)", "GET: 12 345", 12.0, "no unit");
        reads(r"name,(\d+),", "name,12,34", 12.0, "no unit");
        reads(r"(\d+)/\d+ passed", "7/9 passed", 7.0, "no unit");
        reads(r"p(\d+)", "p99", 99.0, "no unit");
        reads(r"real\s+0m([0-9.]+)s", "real\t0m1.25s", 1.25, "s");
        reads(r",([0-9.]+) ms", "name,12.5 ms", 0.0125, "s");
        reads(r"([0-9.]+) ms", "run-12.5 ms", 0.0125, "s");
        reads(r"\d+ min ([0-9.]+) s", "1 min 50 s", 50.0, "s");
        reads(r"([0-9.]+)ms", "Latency 1.21s 635.91ms", 0.63591, "s");
        for (expression, output) in [
            (r"time: (\d+)", "time: 0,985 s"),
            (r"time: ([0-9.]+)", "time: 0:02.50"),
            (r"time: (\d+).*", "time: 0.985 s"),
            (r"time.*(\d+)", "time: 12"),
            (r"time.*(\d+)", "time: 1.5"),
            (r"time: ([0-9.]+)", "time: 12abc"),
            (r"time: ([a-z]+)", "time: none"),
            (r"([0-9.]+) ms", "took 1,450 ms"),
            (r"([0-9.]+) s", "0,985 s"),
            (r"([0-9.]+) +cycles", "985,123,456 cycles"),
            (r"([0-9.]+) total", "1:02.34 total"),
            (r"([0-9.]+) s", "9.5e-05 s"),
            (r"([0-9.]+)s", "2m30s"),
            (r"([0-9.]+) s", "1 min. 50 s"),
            (r"([0-9.]+) second", "2 minute(s) 30 second(s)"),
            (r"([0-9]+) ms", "1’450 ms"),
            (r"([0-9]+) ms", "1 450 ms"),
            (r"([0-9]+) C", "-5 C"),
            (r"([0-9]+) s", "in .5 s"),
            (r"\(([0-9.,]+)\)", "t (1,450)"),
        ] {
            assert!(last(expression, output).unwrap().is_err(), "{expression} {output}");
        }
    }

    /// Issue 25: refused although marked by a group, with this remedy.
    #[test]
    fn text_that_the_expression_states_behind_its_group_is_no_part_of_the_number() {
        reads(r"stddev\):\s+([0-9.]+)/", "time (avg/stddev):   9.9948/0.00", 9.9948, "no unit");
        reads(r"processed: (\d+)/", "processed: 1000/1000", 1000.0, "no unit");
        reads(r"system ([0-9:.]+)elapsed", "0.52user 0.10system 0:01.50elapsed 41%CPU", 1.5, "s");
        reads(r"([0-9.]+)user", "0.52user 0.10system 0:01.50elapsed", 0.52, "user");
        reads(r"fps=([0-9]+)fps", "fps=60fps", 60.0, "fps");
        reads(r"x=([0-9]+)_", "x=60_", 60.0, "no unit");
        for (expression, output) in [
            (r"stddev\):\s+([0-9.]+)", "time (avg/stddev):   9.9948/0.00"),
            (r"processed: (\d+)", "processed: 1000/1000"),
            (r"fps=([0-9]+)f", "fps=60fps"),
            (r"fps=([0-9]+)f?", "fps=60f"),
            (r"fps=([0-9]+)[a-z]+", "fps=60fps"),
            (r"([0-9]+)user", "0.52user"),
        ] {
            let why = last(expression, output).unwrap().unwrap_err();
            assert!(
                why.contains("behind the group, too")
                    || why.contains("leaves")
                    || why.contains("let it begin"),
                "{why}"
            );
        }
    }

    #[test]
    fn last_figure_counts() {
        reads("tps", "tps: 1,2\ntps: 3 tps: 4.5", 4.5, "no unit");
        reads("", "1 and 2.75", 2.75, "no unit");
        assert_eq!(last("tps", "tps: none\n12"), None);
        assert_eq!(last("time", "time: 1,234\ntime: 5"), Some(Ok((5.0, "no unit".into()))));
    }

    /// Issue 25: `^` matched only at the beginning of the output.
    #[test]
    fn expression_is_matched_line_by_line() {
        reads("^tps", "latency tps: 3\ntps: 7\nmean tps: 9", 7.0, "no unit");
        reads(r"^total ([0-9]+)$", "total 5 of 9\r\ntotal 7\r\nx", 7.0, "no unit");
    }

    /// Issue 25: a decimal comma elsewhere says that a point separates thousands.
    #[test]
    fn point_in_an_output_with_decimal_commas_is_refused() {
        reads("time", "time: 1.450\ntotal: 1,450.5", 1.45, "no unit");
        let why = last("time", "total: 1.234,5\ntime: 1.450").unwrap().unwrap_err();
        assert!(
            why.contains("this point may separate thousands") && why.ends_with("\"time: 1.450\""),
            "{why}"
        );
        reads("time", "total: 1.234,5\ntime: 1.450,5", 1450.5, "no unit");
    }

    #[test]
    fn shown_line_changes_no_terminal() {
        let why = last("time", "\x07time: 1,234\x08 x").unwrap().unwrap_err();
        assert!(why.contains(r#""\x07time: 1,234\x08 x""#), "{why}");
    }
}
