//! The escape sequences of terminals (ECMA-48), with which programs colour their figures.

use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;

/// A control sequence such as `ESC [ 32 m`; a string such as a window's title, up to BEL or `ESC \`; a short sequence. CSI and
/// OSC have forms of one character, too.
static SEQUENCES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        "(?:\x1b\\[|\u{9b})[0-?]*[ -/]*[@-~]|(?:\x1b[\\]PX^_]|\u{9d})[^\x07\x1b\n]*(?:\x07|\x1b\\\\)?|\x1b[ -/]*[0-~]",
    )
    .expect("the expression is valid")
});

/// The text without them.
pub fn removed(text: &str) -> Cow<'_, str> {
    match text.contains(['\x1b', '\u{9b}', '\u{9d}']) {
        true => SEQUENCES.replace_all(text, ""),
        false => Cow::Borrowed(text),
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
        ];
        for (text, expected) in cases {
            assert_eq!(removed(text), expected, "{text:?}");
        }
    }
}
