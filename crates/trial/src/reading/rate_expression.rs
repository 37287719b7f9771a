//! Finds an expression for `--metric` that reads a rate in a program's output.

use super::dimension::names_rate;
use super::{Dimension, Expression, escape_sequences};
use regex::escape;

/// Lines at the end of the output that are searched.
const LINES: usize = 200;
/// Longer lines are no results.
const COLUMNS: usize = 200;
/// So many bytes at the end of the output hold such lines.
pub const READ: u64 = (LINES * COLUMNS) as u64;

/// An expression for the last rate in the output that is not 0, such as `transactions: +[0-9.]+ \(` of sysbench. It has
/// been tried: it finds that figure.
pub fn rate_expression(output: &str) -> Option<String> {
    let text = escape_sequences::remove(output);
    let lines = text.lines().rev().take(LINES).filter(|line| line.len() <= COLUMNS && names_rate(line));
    lines.filter_map(|line| in_line(line.trim())).find(|expression| {
        let reading = Expression::compile(expression).ok().and_then(|compiled| compiled.last(output));
        matches!(reading, Some(Ok(reading)) if reading.dimension == Dimension::Rate && reading.value > 0.0)
    })
}

/// The text before the number of a line that is a rate.
fn in_line(line: &str) -> Option<String> {
    numbers(line).into_iter().find_map(|begin| {
        let before = &line[..begin];
        // A number without words before it has no expression that finds no other number.
        if !before.contains(char::is_alphabetic) {
            return None;
        }
        let expression = expression(before);
        let reading = Expression::compile(&expression).ok()?.last(line)?.ok()?;
        (reading.dimension == Dimension::Rate).then_some(expression)
    })
}

/// Where the numbers of a line begin. The digits of a name are none.
fn numbers(line: &str) -> Vec<usize> {
    let mut last = ' ';
    let mut begins = Vec::new();
    for (at, letter) in line.char_indices() {
        let is_in_word = last.is_alphanumeric() || "._,".contains(last);
        if letter.is_ascii_digit() && !is_in_word {
            begins.push(at);
        }
        last = letter;
    }
    begins
}

/// An expression for a text whose numbers and blanks differ from run to run.
fn expression(text: &str) -> String {
    let mut expression = String::new();
    let mut rest = text.trim_end();
    while let Some(first) = rest.chars().next() {
        let is_number = first.is_ascii_digit() && !expression.ends_with(char::is_alphabetic);
        let length = match first {
            _ if is_number => rest.find(|c: char| !c.is_ascii_digit() && !".,".contains(c)),
            _ if first.is_whitespace() => rest.find(|c: char| !c.is_whitespace()),
            _ => Some(first.len_utf8()),
        };
        let (part, behind) = rest.split_at(length.unwrap_or(rest.len()));
        match first {
            _ if is_number => expression.push_str("[0-9.,]+"),
            // One blank needs no operator in most expressions.
            _ if part == " " => expression.push(' '),
            _ if first.is_whitespace() => expression.push_str(r"\s+"),
            _ => expression.push_str(&escape(part)),
        }
        rest = behind;
    }
    expression
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_known_programs_have_an_expression() {
        for (output, expression) in [
            ("    transactions:     1000   (99.90 per sec.)", r"transactions:\s+[0-9.,]+\s+\("),
            ("tps = 2427.18 (without initial connection time)", "tps ="),
            ("GET: 123456.79 requests per second, p50=0.207 msec", "GET:"),
            ("Requests/sec:  950.42\nlatency 5 ms", "Requests/sec:"),
            ("throughput: 5.5 MB/s\nerrors: 0 (0.00 per sec.)", "throughput:"),
            ("step 1\nrate: 10 ops\nrate: 20 ops", "rate:"),
        ] {
            assert_eq!(rate_expression(output).as_deref(), Some(expression), "{output}");
        }
    }

    #[test]
    fn output_without_a_rate_has_no_expression() {
        for output in ["", "took 5 s", "99.9 per second", "operations done: 7", "errors: 0 per second"] {
            assert_eq!(rate_expression(output), None, "{output}");
        }
    }
}
