//! Quotes command lines for a shell.

use std::ffi::OsStr;
use unspin_sys::printable;

/// The words separated by spaces. Words with characters that are special to a shell are quoted.
pub fn line<W: AsRef<OsStr>>(words: &[W]) -> String {
    let quoted = |word: &W| printable::shell_word(word.as_ref().as_encoded_bytes());
    let words: Vec<String> = words.iter().map(quoted).collect();
    words.join(" ")
}

/// A command in short, for a title: the program, and the first argument that names a file, both without their folders. Of
/// `/usr/bin/python3 -u bench/queues.py 10` it is `python3 queues.py`.
pub fn title<W: AsRef<OsStr>>(words: &[W]) -> String {
    let mut words = words.iter().map(|word| word.as_ref().to_string_lossy());
    let program = words.next().map(|program| without_folder(&program).to_owned()).unwrap_or_default();
    match words.find(|word| names_a_file(word)) {
        Some(file) => format!("{program} {}", without_folder(&file)),
        None => program,
    }
}

fn without_folder(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// Whether an argument reads like the name of a file: `queues.py`, `./job`, and not an option, a number, an address or a script.
fn names_a_file(word: &str) -> bool {
    /// A longer name says nothing in a title.
    const LONGEST: usize = 40;
    let name = without_folder(word);
    let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && extension.starts_with(|first: char| first.is_ascii_alphabetic())
    });
    let is_word = !word.starts_with('-') && !word.contains("://") && word.chars().all(is_of_a_path);
    is_word && !name.is_empty() && name.chars().count() <= LONGEST && (has_extension || word.contains('/'))
}

fn is_of_a_path(character: char) -> bool {
    character.is_alphanumeric() || "/._-+@".contains(character)
}

/// A word, quoted if it needs to be.
pub(crate) fn quoted(word: &str) -> String {
    printable::shell_word(word.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_has_the_program_and_its_script() {
        for (words, expected) in [
            (&["/usr/bin/python3", "-u", "bench/queues.py", "10"][..], "python3 queues.py"),
            (&["./server", "-p", "80", "0.5"], "server"),
            (&["sh", "-c", "exec ./a.out > b.txt"], "sh"),
            (&["java", "-jar", "app.jar"], "java app.jar"),
            (&["wrk", "http://host/a.html"], "wrk"),
            (&["/opt/my programs/<img src=x>"], "<img src=x>"),
            (&["sh", "./job"], "sh job"),
            (&[], ""),
        ] {
            assert_eq!(title(words), expected, "{words:?}");
        }
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        let words = ["-c", "a b", "", "it's", "k=v", "$x"].map(quoted);
        assert_eq!(quoted("a\x1b'\n"), r"$'a\x1b\'\n'");
        assert_eq!(words, ["-c", "'a b'", "''", r"'it'\''s'", "k=v", "'$x'"]);
        assert_eq!(line(&["sh", "-c", "", "x"]), "sh -c '' x");
    }
}
