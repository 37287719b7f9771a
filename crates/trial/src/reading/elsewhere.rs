//! Units that stand elsewhere than directly behind their number: in a field of the same JSON object, in the heading of a line or
//! of a block, at the end of the figure's name.
//!
//! A unit that certainly belongs to the figure converts it. For one that may belong to it see [`super::surroundings`].

use super::dimension;
use super::unit::{self, Known};
use regex::{Captures, Regex};
use std::sync::LazyLock;

/// A position in an output, and what the expression has matched before it.
#[derive(Clone, Copy)]
pub struct Position<'a> {
    /// The whole output.
    pub output: &'a str,
    /// Where the figure begins.
    pub begin: usize,
    /// Where the number and the unit behind it end.
    pub end: usize,
    /// The text before the figure, in its line, that the expression does not state literally.
    pub gap: &'a str,
    /// Whether what stands around the figure is wanted.
    pub has_surroundings: bool,
}

/// Number of bytes on either side in which the rest of an object is searched for.
const OBJECT_BYTES: usize = 4096;
/// Number of lines before the figure's in which the heading of its block is searched for.
const BLOCK_LINES: usize = 8;

/// `"unit": "ms"`, `latency_unit=ms`.
static UNIT_FIELD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)["']?\b([\w.-]*?)[_.-]?units?["']?\s*[:=]\s*["']?([\p{L}%/]+)"#)
        .expect("the expression is valid")
});

/// `per minute`, `/ min`.
static RATE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:per|every|each)\s+(\p{L}+|\d+)|^[\s)]*/\s*(\p{L}+)")
        .expect("the expression is valid")
});

impl Position<'_> {
    /// The unit that belongs to the figure, if it stands elsewhere.
    pub fn unit(&self) -> Result<Option<Known>, String> {
        if let Some(known) = unit_of_name(self.gap) {
            return Ok(Some(known));
        }
        if let Some(known) = self.unit_of_field()? {
            return Ok(Some(known));
        }
        Ok(unit_of_heading(self.before()).or_else(|| unit_of_block(self.above())))
    }

    /// What the figure is divided by in its line, beside the unit at the number: "per minute", "/ min".
    pub fn rates(&self, behind: &str) -> Vec<String> {
        let digit = behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len());
        let behind =
            RATE.captures(behind).filter(|rate| rate.get(0).is_some_and(|rate| rate.start() < digit));
        let rates = RATE.captures_iter(self.before()).last().into_iter().chain(behind);
        let divisor =
            |rate: Captures<'_>| rate.get(1).or(rate.get(2)).map_or("", |word| word.as_str()).to_lowercase();
        rates.map(|rate| format!("per {}", divisor(rate))).collect()
    }

    /// The lines above the figure's.
    pub fn above(&self) -> &str {
        &self.output[..self.line_begin()]
    }

    fn line_begin(&self) -> usize {
        self.output[..self.begin].rfind(['\r', '\n']).map_or(0, |at| at + 1)
    }

    /// The lines below the figure's.
    pub fn below(&self) -> &str {
        let rest = &self.output[self.end..];
        &rest[rest.find(['\r', '\n']).unwrap_or(rest.len())..]
    }

    /// The figure's line up to it.
    pub fn before(&self) -> &str {
        &self.output[self.line_begin()..self.begin]
    }

    /// The figure's line behind it.
    pub fn after(&self) -> &str {
        self.output[self.end..].split(['\r', '\n']).next().unwrap_or_default()
    }

    /// The unit that a field of the same object, or else of the same line, states.
    fn unit_of_field(&self) -> Result<Option<Known>, String> {
        let line = || format!("{} {}", self.before(), self.after());
        let text = self.object().unwrap_or_else(line).replace("\\u00b5", "µ");
        let key = self.before().trim_end_matches(|c: char| !c.is_alphanumeric());
        let key =
            key.rsplit(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).next().unwrap_or_default();
        let fields = || UNIT_FIELD.captures_iter(&text);
        let key = key.to_lowercase();
        // "time_unit" is that of "real_time", too.
        let is_end = |name: &str| key.strip_suffix(name).is_some_and(|rest| rest.ends_with(['_', '-', '.']));
        let own = |fits: &dyn Fn(&str) -> bool| {
            fields().find(|field| !field[1].is_empty() && fits(&field[1].to_lowercase()))
        };
        let own = own(&|name| name == key).or_else(|| own(&is_end));
        let mut units: Vec<String> = match own {
            Some(own) => vec![own[2].to_owned()],
            None => fields().filter(|field| field[1].is_empty()).map(|field| field[2].to_owned()).collect(),
        };
        units.dedup();
        match &units[..] {
            [] => Ok(None),
            [word] => {
                Ok(Some(unit::known(word).unwrap_or_else(|| Known { factor: 1.0, base: word.clone() })))
            }
            [one, other, ..] => {
                Err(format!("its unit is {one} or {other}; let the program print it behind the number"))
            }
        }
    }

    /// The text of the JSON object that has the figure as the value of a field, without the objects and lists in it.
    fn object(&self) -> Option<String> {
        let before = self.before().trim_end().trim_end_matches('"').trim_end();
        before.strip_suffix(':')?.trim_end().strip_suffix(['"', '\''])?;
        let (mut depth, mut text) = (0_i32, String::new());
        for letter in self.output[..self.begin].chars().rev().take(OBJECT_BYTES) {
            match letter {
                '}' | ']' => depth += 1,
                '{' if depth == 0 => {
                    return Some(text.chars().rev().collect::<String>() + &self.rest_of_object());
                }
                '[' if depth == 0 => return None,
                '{' | '[' => depth -= 1,
                letter if depth == 0 => text.push(letter),
                _ => (),
            }
        }
        None
    }

    fn rest_of_object(&self) -> String {
        let (mut depth, mut text) = (0_i32, String::new());
        for letter in self.output[self.end..].chars().take(OBJECT_BYTES) {
            match letter {
                '{' | '[' => depth += 1,
                '}' | ']' if depth == 0 => break,
                '}' | ']' => depth -= 1,
                letter if depth == 0 => text.push(letter),
                _ => (),
            }
        }
        text
    }
}

/// The unit at the end of a figure's name: `_ms: ` of "latency_ms: 1.45". That of a rate, "per second: ", is another's.
fn unit_of_name(gap: &str) -> Option<Known> {
    let name = gap.trim_end_matches(|c: char| !c.is_alphanumeric());
    let at = name.rfind(|c: char| !c.is_alphanumeric()).map_or(0, |at| at + 1);
    let at = (at..=name.len()).find(|&at| name.is_char_boundary(at))?;
    let (before, word) = name.split_at(at);
    let is_suffix = before.ends_with('_');
    // "requests per sec", "jobs_per_sec", "frames each ms", "req_s".
    let last = before.trim_end_matches(|c: char| c.is_whitespace() || c == '_');
    let last = last.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let is_divisor =
        |word: &str| ["per", "each", "every"].iter().any(|divisor| word.eq_ignore_ascii_case(divisor));
    let is_rate = before.ends_with('/')
        || before.split(|c: char| !c.is_alphabetic()).any(is_divisor)
        || unit::is_counted(last);
    // "min" is the smallest value more often than a minute.
    let is_unit =
        unit::is_time(word) && !matches!(word, "min" | "mins" | "Min") && (word.len() > 1 || is_suffix);
    // "tx_sec" may be a rate; "elapsed_sec" is none, and milliseconds divide no rate.
    let may_be_rate = is_suffix
        && unit::known(word).is_some_and(|known| known.factor >= 1.0)
        && !last.is_empty()
        && !dimension::is_statistic(last)
        && !dimension::is_name_of_time(last);
    (is_unit && !is_rate && !may_be_rate).then(|| unit::known(word)).flatten()
}

/// The units in brackets, each with the text behind it.
fn bracketed(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let opened = text.match_indices(['(', '[']).map(|(at, _)| &text[at + 1..]);
    opened.filter_map(|inner| {
        let (word, after) = inner.split_once([')', ']'])?;
        (!word.trim().is_empty() && unit::bracketed(word.trim()).is_some()).then(|| (word.trim(), after))
    })
}

/// The unit of a line of several figures: "lat (usec): min=1, avg=1.2".
fn unit_of_heading(before: &str) -> Option<Known> {
    let (word, after) = bracketed(before).last()?;
    let list = after.trim_start().strip_prefix([':', '='])?;
    (!list.contains([':', ';'])).then(|| unit::known(word)).flatten()
}

/// The unit in the heading of a block of lines with bars: "clat percentiles (usec):", above `| 99.00th=[ 5]`.
fn unit_of_block(before: &str) -> Option<Known> {
    let mut lines = before.lines().rev().take(BLOCK_LINES);
    let heading = lines.find(|line| !line.trim_start().starts_with('|'))?;
    let heading = heading.trim_end().strip_suffix(':')?;
    let (word, after) = bracketed(heading).last()?;
    let has_bars = before.lines().next_back().is_some_and(|last| last.trim_start().starts_with('|'));
    (after.is_empty() && has_bars).then(|| unit::known(word)).flatten()
}

#[cfg(test)]
mod tests {
    use super::super::testing::read;

    /// Issue 25: units elsewhere on the line.
    #[test]
    fn units_that_stand_elsewhere_convert_the_figure() {
        let cases = [
            ("latency", r#"{"latency": 1.45, "unit": "ms"}"#, 0.00145, "s"),
            ("latency", r#"{"unit": "us", "latency": 85}"#, 85e-6, "s"),
            ("latency", r#"[{"n": 1, "unit": "s"}, {"latency": 85, "unit": "us"}]"#, 85e-6, "s"),
            ("latency", r#"{"latency": 3, "of": {"unit": "s"}, "unit": "ms"}"#, 0.003, "s"),
            ("latency", "{\n \"latency\": 1.5,\n \"unit\": \"ms\"\n}", 0.0015, "s"),
            ("latency", r#"{"latency": 2, "latency_unit": "ms", "size_unit": "B"}"#, 0.002, "s"),
            ("latency", r#"{"latency": 2, "unit": "\u00b5s"}"#, 2e-6, "s"),
            ("latency", r#"{"latency": 2, "unit": "widgets"}"#, 2.0, "widgets"),
            ("latency=", "latency=1.5 unit=ms", 0.0015, "s"),
            ("avg=", "  lat (usec): min=1, max=9, avg= 1.25, stdev=3", 1.25e-6, "s"),
            (r"lat.*avg=\s*([0-9.]+)", "  lat (msec): min=1, avg= 1.25", 0.00125, "s"),
            ("99.00th=\\[", "  clat percentiles (usec):\n   |  1.00th=[ 2],\n   | 99.00th=[ 7]", 7e-6, "s"),
            ("latency", "latency (ms): 1.45", 0.00145, "s"),
            (r": ([0-9.]+)", "latency (ms): 1.45", 0.00145, "s"),
            ("latency", "latency_ms: 1.5", 0.0015, "s"),
            ("latency", "latency_s=1.5", 1.5, "s"),
            ("latency", "latency in usec: 3", 3e-6, "s"),
            ("lat", "lat min=5", 5.0, "no unit"),
            ("requests", "requests per second: 5", 5.0, "no unit"),
            ("requests", "requests/sec: 5", 5.0, "no unit"),
        ];
        for (expression, output, value, unit) in cases {
            let (read, named, _) = read(expression, output).unwrap_or_else(|why| panic!("{output}: {why}"));
            assert!((read - value).abs() <= 1e-12 * value, "{output}: {read}");
            assert_eq!(named, unit, "{output}");
        }
        let why = read("latency", r#"{"latency": 1, "unit": "ms", "unit": "us"}"#).unwrap_err();
        assert!(why.starts_with("its unit is ms or us"), "{why}");
    }
}
