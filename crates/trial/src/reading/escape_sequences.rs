//! The escape sequences of terminals (ECMA-48), with which programs colour their figures.

use regex::{Captures, Regex};
use std::borrow::Cow;
use std::sync::LazyLock;

/// A control sequence such as `ESC [ 32 m`; a string such as a window's title, up to BEL or `ESC \`; a short sequence. CSI and
/// OSC have forms of one character, too.
static SEQUENCES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        "(?:\x1b\\[|\u{9b})[0-?]*[ -/]*(?P<control>[@-~])|(?:\x1b[\\]PX^_]|\u{9d})[^\x07\x1b\n]*(?:\x07|\x1b\\\\)?|\x1b[ -/]*(?P<short>[0-~])",
    )
    .expect("the expression is valid")
});

/// The text without them. What moves the cursor parts the text before it from that behind it: to the right it is a space, to the left
/// a backspace, and to another line the end of a line.
pub fn remove(text: &str) -> Cow<'_, str> {
    match text.contains(['\x1b', '\u{9b}', '\u{9d}']) {
        true => SEQUENCES.replace_all(text, replacement),
        false => Cow::Borrowed(text),
    }
}

fn replacement(sequence: &Captures<'_>) -> &'static str {
    if let Some(control) = sequence.name("control") {
        return match control.as_str() {
            // Colours, erasing, modes, reports.
            "m" | "K" | "J" | "h" | "l" | "c" | "g" | "n" | "p" | "q" | "s" | "t" | "x" => "",
            "C" | "I" | "P" | "X" | "@" | "a" => " ",
            // "b" prints the last character again.
            "D" | "Z" | "b" | "j" => "\u{8}",
            "G" | "`" => "\r",
            _ => "\n",
        };
    }
    match sequence.name("short").map_or("", |short| short.as_str()) {
        "8" | "D" | "E" | "M" | "c" => "\n",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_removed() {
        let cases = [
            ("a 5", "a 5"),
            ("\x1b[32m5\x1b[0m", "5"),
            ("\x1b[38;5;12m5\x1b[m", "5"),
            ("\x1b]0;title 7\x075", "5"),
            ("\x1b]8;;http://x\x1b\\5\x1b]8;;\x1b\\", "5"),
            ("\x1b(B5\x1b[K", "5"),
            ("\u{9b}32m5", "5"),
            ("5\x1b", "5\x1b"),
            // Issue 25: two numbers became one.
            ("12\x1b[4C34", "12 34"),
            ("12\x1b[2;30H34", "12\n34"),
            ("12\x1b[K\x1b[1B34", "12\n34"),
            ("12\x1b[2D34", "12\u{8}34"),
            ("12\x1b[30G34", "12\r34"),
            ("12\x1bE34", "12\n34"),
            ("\x1b[?25l5\x1b[2K", "5"),
        ];
        for (text, expected) in cases {
            assert_eq!(remove(text), expected, "{text:?}");
        }
    }
}
