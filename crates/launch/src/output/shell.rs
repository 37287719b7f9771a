//! Paths in messages, and in the commands that they suggest.

use std::ffi::OsString;
use std::path::Path;
use unspin_sys::printable;

/// A path as a word of a command, quoted if a shell would read it otherwise.
pub fn quote(path: &Path) -> String {
    printable::shell_word(path.as_os_str().as_encoded_bytes())
}

/// A command, each word quoted if a shell would read it otherwise. Bytes that are not UTF-8 are kept, as `$'\xff'`.
pub fn line(words: &[OsString]) -> String {
    let quoted: Vec<String> =
        words.iter().map(|word| printable::shell_word(word.as_encoded_bytes())).collect();
    quoted.join(" ")
}

/// A path without characters that end the line or control a terminal: every user can give files in `/dev/shm` any
/// name, and root is shown them.
pub fn on_one_line(path: &Path) -> String {
    printable::bytes(path.as_os_str().as_encoded_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn words_that_are_not_utf8_are_kept() {
        let words = [b"./a b".to_vec(), b"\xff'".to_vec(), b"-x".to_vec()].map(OsString::from_vec);
        assert_eq!(line(&words), r"'./a b' $'\xff\'' -x");
    }
}
