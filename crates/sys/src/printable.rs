//! Names and texts of others on our outputs: of threads, symbols and files, and what programs print.
//!
//! A name may have any byte. An escape sequence in it would change the reader's terminal; a newline would begin a line that
//! looks like ours. So a name is escaped where it is read: the kernel does the same in `/proc/PID/maps`. What is printed is escaped
//! once more, but for newlines and tabs, so that a text that bypasses the first step does no harm.
//!
//! An escape sequence is one that `$'…'` of a shell, and C, read as the same bytes.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::RangeInclusive;

/// One line: every character that changes a terminal is escaped.
pub fn line(text: &str) -> Cow<'_, str> {
    escape(text, &[])
}

/// A text of several lines: newlines and tabs stay.
pub fn text(text: &str) -> Cow<'_, str> {
    escape(text, &['\n', '\t'])
}

/// The bytes of a line. Those that are not UTF-8 are escaped, too; tabs stay.
pub fn bytes(line: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in line.utf8_chunks() {
        shown.push_str(&escape(chunk.valid(), &['\t']));
        chunk.invalid().iter().for_each(|byte| push_byte(&mut shown, *byte));
    }
    shown
}

/// Whether a character is no part of a line: control characters; those that change the direction or the line of the characters behind
/// them; and those that are not seen, so that two names would look alike.
pub fn changes_terminal(character: char) -> bool {
    /// The property `Bidi_Control` of Unicode.
    const DIRECTIONS: [RangeInclusive<char>; 4] =
        ['\u{061c}'..='\u{061c}', '\u{200e}'..='\u{200f}', '\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}'];
    /// Separators of lines and paragraphs (Zl, Zp).
    const LINES: [RangeInclusive<char>; 1] = ['\u{2028}'..='\u{2029}'];
    /// Characters without width: of the category Cf, or `Default_Ignorable_Code_Point`.
    const UNSEEN: [RangeInclusive<char>; 8] = [
        '\u{00ad}'..='\u{00ad}',
        '\u{180e}'..='\u{180e}',
        '\u{200b}'..='\u{200d}',
        '\u{2060}'..='\u{2065}',
        '\u{206a}'..='\u{206f}',
        '\u{feff}'..='\u{feff}',
        '\u{fff9}'..='\u{fffb}',
        '\u{e0000}'..='\u{e0fff}',
    ];
    let is_in = |ranges: &[RangeInclusive<char>]| ranges.iter().any(|range| range.contains(&character));
    character.is_control() || !character.is_ascii() && (is_in(&DIRECTIONS) || is_in(&LINES) || is_in(&UNSEEN))
}

/// A word for a shell, quoted if it would be read otherwise: by apostrophes, or as `$'…'` if they would not keep it on one line.
pub fn shell_word(word: &[u8]) -> String {
    let text = std::str::from_utf8(word);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    match text {
        Ok(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Ok(text) if !text.contains(changes_terminal) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => {
            let mut quoted = String::from("$'");
            for chunk in word.utf8_chunks() {
                for character in chunk.valid().chars() {
                    match character {
                        '\'' | '\\' => quoted.extend(['\\', character]),
                        changes if changes_terminal(changes) => push_escape(&mut quoted, changes),
                        other => quoted.push(other),
                    }
                }
                chunk.invalid().iter().for_each(|byte| push_byte(&mut quoted, *byte));
            }
            quoted + "'"
        }
    }
}

fn escape<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let is_escaped = |character: char| changes_terminal(character) && !kept.contains(&character);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_escaped(character) {
            true => push_escape(&mut shown, character),
            false => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

fn push_escape(text: &mut String, character: char) {
    match character {
        '\n' => text.push_str(r"\n"),
        '\r' => text.push_str(r"\r"),
        '\t' => text.push_str(r"\t"),
        other => other.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push_byte(text, byte)),
    }
}

fn push_byte(text: &mut String, byte: u8) {
    // A String takes every text.
    let _ = write!(text, r"\x{byte:02x}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_character_is_escaped() {
        for code in (0..0x20).chain(0x7f..0xa0) {
            let character = char::from_u32(code).unwrap();
            let shown = line(&format!("a{character}b")).into_owned();
            assert!(!shown.contains(changes_terminal), "{code:#x}: {shown:?}");
            assert!(shown.starts_with("a\\") && shown.ends_with('b'), "{shown:?}");
        }
        assert_eq!(line("\x1b[2J\x07\n\u{9b}31m\u{202e}"), r"\x1b[2J\x07\n\xc2\x9b31m\xe2\x80\xae");
        assert!(matches!(line("std::vec<a, ä>::push"), Cow::Borrowed(_)));
    }

    #[test]
    fn every_character_of_direction_and_every_unseen_one_is_escaped() {
        let directions =
            "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
        for character in directions
            .chars()
            .chain("\u{2028}\u{2029}\u{200b}\u{200d}\u{2060}\u{feff}\u{ad}\u{e0041}".chars())
        {
            assert!(changes_terminal(character), "{:x}", character as u32);
        }
        assert_eq!(line("a\u{61c}b"), r"a\xd8\x9cb");
        assert_eq!(shell_word("a\u{200b}b".as_bytes()), r"$'a\xe2\x80\x8bb'");
        assert!(!"aZ ä€日😀é".contains(changes_terminal));
    }

    #[test]
    fn lines_of_a_text_stay() {
        assert_eq!(text("a\tb\nc\r\x1b"), "a\tb\nc\\r\\x1b");
        assert_eq!(bytes(b"a\tb\x1b[2J\x07 \xff\xfe \xc3\xa4"), "a\tb\\x1b[2J\\x07 \\xff\\xfe \u{e4}");
    }

    #[test]
    fn shell_reads_quoted_words_back() {
        let words: [&[u8]; 9] = [
            b"plain-1.so",
            b"a b",
            b"it's",
            b"",
            b"$x `y` \\",
            b"\x1b[2J\x07it's\\x",
            b"two\nlines",
            b"\xff\xfe0",
            "\u{9b}31m\u{202e}ä".as_bytes(),
        ];
        for word in words {
            let quoted = shell_word(word);
            assert!(!quoted.contains(changes_terminal), "{quoted}");
            let script = format!("printf %s {quoted}");
            let Ok(output) = std::process::Command::new("bash").args(["-c", &script]).output() else {
                let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: install bash\n");
                return;
            };
            assert_eq!(output.stdout, word, "{quoted}");
        }
    }
}
