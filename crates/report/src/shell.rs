//! Quotes command lines for a shell.

use std::ffi::OsStr;
use unspin_sys::printable;

/// The words separated by spaces. Words with characters that are special to a shell are quoted.
pub fn line<W: AsRef<OsStr>>(words: &[W]) -> String {
    let quoted = |word: &W| printable::shell_word(word.as_ref().as_encoded_bytes());
    let words: Vec<String> = words.iter().map(quoted).collect();
    words.join(" ")
}

/// A word, quoted if it needs to be.
pub(crate) fn quoted(word: &str) -> String {
    printable::shell_word(word.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        let words = ["-c", "a b", "", "it's", "k=v", "$x"].map(quoted);
        assert_eq!(quoted("a\x1b'\n"), r"$'a\x1b\'\n'");
        assert_eq!(words, ["-c", "'a b'", "''", r"'it'\''s'", "k=v", "'$x'"]);
        assert_eq!(line(&["sh", "-c", "", "x"]), "sh -c '' x");
    }
}
