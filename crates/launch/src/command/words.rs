//! A command line as one argument of an option: `--server 'redis-server --port 7777 --save ""'`, `--scheduler 'scx_lavd --verbose'`.
//!
//! The process that unspin starts must be the server or the scheduler itself: a signal stops it, and its end is noticed. So no shell
//! comes between the two where none is needed, and where one is needed it becomes the program by `exec`.

use crate::error::Error;
use std::ffi::OsString;

/// Characters that only a shell understands, outside single quotes.
const EXPANDED: &str = "$`";
/// Characters that a shell expands or redirects by outside all quotes.
const EXPANDED_BARE: &str = "*?[{~<>#";
/// Between commands, outside all quotes.
const CONTROL: &str = ";&|()\n";

/// What a command line needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Needs {
    /// Words, with quotes.
    Words,
    /// A shell that expands or redirects, and then becomes the program.
    Shell,
    /// A shell that runs several commands; the last should be `exec PROGRAM`.
    Script,
}

/// The words that start the program that this line names, which is the value of an option.
pub fn words(option: &str, line: &str) -> Result<Vec<OsString>, Error> {
    let shell = |script: String| vec!["/bin/sh".into(), "-c".into(), script.into()];
    let words = match needs(line) {
        Needs::Words | Needs::Shell if assigns(line) => shell(format!("exec env {line}")),
        Needs::Words => match shell_words::split(line) {
            Ok(words) => words.into_iter().map(OsString::from).collect(),
            Err(_) => {
                return Err(Error::Usage(format!("{option} '{line}': a quote is not closed: close it")));
            }
        },
        Needs::Shell => shell(format!("exec {line}")),
        Needs::Script => shell(line.to_owned()),
    };
    if line.trim().is_empty() || words.is_empty() {
        return Err(Error::Usage(format!("{option} is empty: give a command")));
    }
    Ok(words)
}

/// The words that name the program among those that start it: behind the `exec` of a shell, and behind variables for its
/// environment.
pub fn named(words: &[OsString]) -> Vec<OsString> {
    let [shell, option, script] = words else { return words.to_vec() };
    if shell != "/bin/sh" || option != "-c" {
        return words.to_vec();
    }
    let script = script.to_string_lossy();
    let split = shell_words::split(&script).unwrap_or_default();
    let server = split.iter().rposition(|word| word == "exec").map_or(&split[..], |exec| &split[exec + 1..]);
    let variables = server.iter().take_while(|word| *word == "env" || assigns(word)).count();
    server[variables..].iter().map(OsString::from).collect()
}

fn needs(line: &str) -> Needs {
    let mut needs = Needs::Words;
    let (mut quote, mut is_escaped) = (None, false);
    let mut characters = line.chars().peekable();
    let mut last = ' ';
    while let Some(character) = characters.next() {
        let before = std::mem::replace(&mut last, character);
        let least = match quote {
            _ if is_escaped => {
                is_escaped = false;
                continue;
            }
            Some('\'') if character != '\'' => continue,
            Some(mark) if character == mark => {
                quote = None;
                continue;
            }
            None if matches!(character, '\'' | '"') => {
                quote = Some(character);
                continue;
            }
            _ if character == '\\' => {
                is_escaped = true;
                continue;
            }
            // `2>&1`, `<&3`, `&>log`.
            None if character == '&' && (matches!(before, '<' | '>') || characters.peek() == Some(&'>')) => {
                Needs::Shell
            }
            None if CONTROL.contains(character) => Needs::Script,
            None if EXPANDED_BARE.contains(character) => Needs::Shell,
            _ if EXPANDED.contains(character) => Needs::Shell,
            _ => Needs::Words,
        };
        needs = needs.max(least);
    }
    needs
}

/// Whether the line begins with a variable for the program's environment. A shell cannot `exec` such a line.
fn assigns(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    first.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Vec<String> {
        words("--server", line).unwrap().into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn plain_line_needs_no_shell() {
        assert_eq!(
            split("redis-server --port 7777 --save ''"),
            ["redis-server", "--port", "7777", "--save", ""]
        );
        assert_eq!(split(r#"nginx -g "daemon off;""#), ["nginx", "-g", "daemon off;"]);
        assert_eq!(split(r"a\ b 'c $d'"), ["a b", "c $d"]);
    }

    #[test]
    fn shell_becomes_the_server() {
        assert_eq!(split("postgres -D $HOME/db"), ["/bin/sh", "-c", "exec postgres -D $HOME/db"]);
        assert_eq!(split("server \"$X\" > log"), ["/bin/sh", "-c", "exec server \"$X\" > log"]);
        assert_eq!(split("cd /srv && exec ./server"), ["/bin/sh", "-c", "cd /srv && exec ./server"]);
        assert_eq!(split("THREADS=4 ./server"), ["/bin/sh", "-c", "exec env THREADS=4 ./server"]);
        assert_eq!(split("./server >log 2>&1"), ["/bin/sh", "-c", "exec ./server >log 2>&1"]);
        assert_eq!(split("./server & exec ./other"), ["/bin/sh", "-c", "./server & exec ./other"]);
        assert_eq!(split("'./a=b' 7"), ["./a=b", "7"]);
    }

    #[test]
    fn server_is_named_behind_its_shell() {
        for (line, expected) in [
            ("redis-server --port 7777", "redis-server --port 7777"),
            ("cd /srv && exec ./server a.conf", "./server a.conf"),
            ("THREADS=4 ./server", "./server"),
            ("sh -c 'exec x'", "sh -c exec x"),
        ] {
            assert_eq!(named(&words("--server", line).unwrap()).join(std::ffi::OsStr::new(" ")), expected);
        }
    }

    #[test]
    fn unusable_line_is_one_line() {
        for (line, said) in [("", "is empty"), ("  ", "is empty"), ("server 'x", "a quote is not closed")] {
            let Err(Error::Usage(text)) = words("--server", line) else { panic!("{line}") };
            assert!(text.contains(said) && text.lines().count() == 1, "{text}");
        }
    }
}
