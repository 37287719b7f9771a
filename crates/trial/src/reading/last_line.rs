//! Whether a program has printed the figure once more, without a number.
//!
//! The last figure counts. A program that prints "p99: 5" on the way and "p99: n/a" at its end has no figure.

use super::no_figure;

/// The position of the last later line of the same form that has no number. `named` is where the figure's name ends, `begin`
/// where its number begins.
pub fn without_figure(output: &str, named: usize, begin: usize) -> Option<usize> {
    let line_begin = output[..begin].rfind(['\r', '\n']).map_or(0, |at| at + 1);
    let named = named.clamp(line_begin, begin);
    let is_separator = |c: char| c.is_whitespace() || ":=\"'".contains(c);
    let name = alike(output[line_begin..named].trim_end_matches(is_separator));
    if !name.contains(char::is_alphabetic) {
        return None;
    }
    let between = &output[line_begin..begin];
    let separator = between.chars().rev().filter(|c| !c.is_whitespace()).find(|c| ":=".contains(*c));
    let line_end = output[begin..].find(['\r', '\n']).map_or(output.len(), |at| begin + at);
    let mut found = None;
    let mut at = line_end;
    for line in output[line_end..].split(['\r', '\n']) {
        if let Some(rest) = alike(line).strip_prefix(name.as_str())
            && has_no_figure(rest, separator)
        {
            found = Some(at);
        }
        at += line.len() + 1;
    }
    found
}

/// Whether what follows the name, behind the same separator, is no number.
fn has_no_figure(rest: &str, separator: Option<char>) -> bool {
    let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || "\"'".contains(c));
    let value = match separator {
        Some(separator) => match trimmed.split_once(separator) {
            // "p99 of writes: -" is another figure than "p99: 5".
            Some((name, value)) if name.trim().is_empty() => value,
            _ => return false,
        },
        // Columns: a line that goes on in words is prose.
        None if !rest.starts_with(char::is_whitespace) || trimmed.split_whitespace().count() > 1 => {
            return false;
        }
        None => trimmed,
    };
    let digit = value.find(|c: char| c.is_ascii_digit());
    digit.is_none() || no_figure(&value[..digit.unwrap_or_default()]).is_some()
}

/// The text with all its numbers made alike: times and counters before a figure's name change from line to line.
fn alike(text: &str) -> String {
    let mut alike = String::new();
    for letter in text.chars() {
        let letter = if letter.is_ascii_digit() { '0' } else { letter };
        if letter != '0' || !alike.ends_with('0') {
            alike.push(letter);
        }
    }
    alike
}

#[cfg(test)]
mod tests {
    use super::super::Expression;

    fn last(expression: &str, output: &str) -> Result<f64, String> {
        Expression::compile(expression).unwrap().last(output).expect("a figure").map(|reading| reading.value)
    }

    /// Issue 25: an older figure was taken where the last line had none.
    #[test]
    fn later_line_without_a_number_is_no_figure() {
        for (expression, output) in [
            ("p99", "p99: 5\np99: n/a"),
            ("p99: ", "p99: 5\np99: -\n"),
            ("p99", "p99 5.1\np99 failed"),
            ("p99: ([0-9.]+)", "p99: 5\np99: n/a (0 samples)"),
            ("tps", "[12:00:01] tps: 5\n[12:00:12] tps: none"),
            ("tps", "\"tps\": 5,\n\"tps\": null"),
        ] {
            let why = last(expression, output).expect_err(output);
            assert!(why.starts_with("a later line of the same form has no number; its line: "), "{why}");
        }
        for (expression, output) in [
            ("tps", "tps: 5\ntps measured by the tool"),
            ("tps", "tps: 5\ntps of writes: none"),
            ("time", "time 5\ntime flies like an arrow"),
            ("", "5\nend"),
            (r"tps = ([0-9]+) \(including", "tps = 5 (including)\ntps = 6 (excluding)"),
            ("tps", "tps: none\ntps: 5"),
        ] {
            assert_eq!(last(expression, output), Ok(5.0), "{output}");
        }
    }
}
