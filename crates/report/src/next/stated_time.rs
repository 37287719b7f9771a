//! A time in a command line that is about as long as the run was: such a program runs for a fixed time, with every lock.

use crate::figures::time;
use crate::report::MeterReport;
use crate::shell;

/// How much longer than its command says a run may take: for its start and its end, in seconds and as a share.
const MARGIN_S: f64 = 0.1;
const MARGIN: f64 = 0.03;
/// The share where the name of the option says that it is a time: a program may end what it has begun.
const NAMED_MARGIN: f64 = 1.0;
/// How much shorter it may be: clocks differ.
const SHORTER: f64 = 0.005;
/// A shorter time is not looked for: small numbers mean many things.
const SECONDS_MIN: f64 = 0.5;

/// The words of a command that name a time about as long as the run: `--time=10`, or `-t 10`. None if no word does, or
/// if the run was short.
pub fn stated_time(command: &[String], seconds: f64) -> Option<String> {
    // A script is one word of `sh -c`.
    let words: Vec<&str> = command.iter().skip(1).flat_map(|word| word.split_whitespace()).collect();
    (0..words.len()).find_map(|at| {
        let option = at.checked_sub(1).map(|before| words[before]).filter(|word| word.starts_with('-'));
        let (word, is_near) = (words[at], |name: &str, text: &str| is_near(name, text, seconds));
        if let Some((name, value)) = word.split_once('=') {
            return is_near(name, value).then(|| shell::quoted(word));
        }
        // `-t10`: a letter and its value.
        if let Some(value) = word.strip_prefix('-').and_then(|rest| rest.strip_prefix(char::is_alphabetic)) {
            return is_near("", value).then(|| shell::quoted(word));
        }
        is_near(option.unwrap_or(""), word).then(|| match option {
            Some(option) => format!("{} {}", shell::quoted(option), shell::quoted(word)),
            None => shell::quoted(word),
        })
    })
}

/// What follows for a proof of the metered program; none if no word of its command names the time of the run.
pub(crate) fn note(report: &MeterReport) -> Option<String> {
    let command = match (&report.invocation.command, &report.processes[..]) {
        (given, _) if !given.is_empty() => given,
        (_, [process]) => &process.command,
        _ => return None,
    };
    let stated = stated_time(command, report.seconds)?;
    Some(format!(
        "The run took {}, and its command has the words {stated}. If they say how long the program runs, its time is the same \
         with every lock, and proves nothing. Then compare what it gets done in that time: add --metric 'WORDS' \
         --higher-is-better behind \"unspin prove\". WORDS is the text that stands before such a figure in its output.",
        time(report.seconds)
    ))
}

/// Seconds of the unit that a number without a unit has behind an option of this name.
fn unit_of(option: &str) -> f64 {
    let name = option.to_lowercase();
    let is_milliseconds = ["ms", "msec", "msecs", "millis", "milliseconds"].iter().any(|end| {
        let begin = name.strip_suffix(end);
        begin.is_some_and(|begin| begin.ends_with(['-', '_']))
    });
    if is_milliseconds { 1e-3 } else { 1.0 }
}

/// Whether a text behind an option of this name is a time about as long as `seconds`.
fn is_near(option: &str, text: &str, seconds: f64) -> bool {
    let Some(stated) = duration(unit_of(option), text) else { return false };
    let margin = if names_time(option) { NAMED_MARGIN } else { MARGIN };
    stated >= SECONDS_MIN
        && seconds >= stated * (1.0 - SHORTER)
        && seconds <= stated * (1.0 + margin) + MARGIN_S
}

/// Whether a word of the option's name says that its value is the time of a run.
fn names_time(option: &str) -> bool {
    let name = option.to_lowercase();
    name.split(['-', '_']).any(|word| ["time", "runtime", "duration"].contains(&word))
}

/// The seconds of `10`, `10s`, `1.5m`; the number alone has the given unit.
fn duration(unit: f64, text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let unit = match text.get(digits.len()..)?.to_lowercase().as_str() {
        "" => unit,
        "ms" | "msec" => 1e-3,
        "s" | "sec" | "secs" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minutes" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit());
    digits.parse::<f64>().ok().filter(|_| is_number).map(|number| number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(command: &str, seconds: f64) -> Option<String> {
        let words: Vec<String> = command.split('|').map(str::to_owned).collect();
        stated_time(&words, seconds)
    }

    #[test]
    fn words_that_name_the_time_of_the_run_are_found() {
        for (command, seconds, words) in [
            ("sysbench|mutex|--time=10|run", 10.02, "--time=10"),
            ("sysbench|--threads=8|--time=60|run", 60.9, "--time=60"),
            ("stress-ng|--cpu|2|-t|5s", 5.05, "-t 5s"),
            ("stress-ng|--timeout|1m", 60.2, "--timeout 1m"),
            ("wrk|-t8|-d10s|http://localhost", 10.1, "-d10s"),
            ("pgbench|-T|10|db", 10.3, "-T 10"),
            ("bench|--duration-ms|2000", 2.01, "--duration-ms 2000"),
            ("timeout|3|./server", 3.0, "3"),
            ("sh|-c|./bench --runtime=2 > log", 2.05, "--runtime=2"),
            // Its threads end what they have begun.
            ("sysbench|--time=4|threads|run", 5.9, "--time=4"),
            ("bench|--run-time|4", 7.0, "--run-time 4"),
        ] {
            assert_eq!(stated(command, seconds).as_deref(), Some(words), "{command}");
        }
    }

    #[test]
    fn other_numbers_are_no_times_of_the_run() {
        for (command, seconds) in [
            ("sysbench|--time=10|run", 3.2),
            ("sysbench|--time=10|run", 21.0),
            ("stress-ng|--timeout=10|-t|9", 11.0),
            ("bench|--time-limit=4|-n|5", 9.0),
            ("sysbench|--time=10|run", 9.8),
            ("bench|--items=2x|2:00|-2|2..3", 2.0),
            ("bench|0.01", 0.01),
            ("10", 10.0),
            ("bench|--threads|inf|nan|-tinf", 2.0),
        ] {
            assert_eq!(stated(command, seconds), None, "{command}");
        }
    }
}
