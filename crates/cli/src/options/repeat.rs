//! The command line that repeats what this one has done, for results.

use super::CommandLine;
use clap::{Arg, ArgAction, Command, CommandFactory};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The options that name a file for results. A command that is repeated has other results, and would replace these.
const OUTPUTS: [&str; 10] =
    ["json", "html", "plan", "markdown", "junit", "output", "record", "pprof", "otlp", "firefox"];

/// The words of the command line, beginning with `unspin`, wherever it was found, and without the files for results.
pub fn words() -> Vec<OsString> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    std::iter::once("unspin".into()).chain(without_outputs(&words)).collect()
}

/// What an option of unspin means for the words that follow.
enum Found {
    /// Not one of its options.
    Other,
    /// An option for a result. Joined with it are this many letters before it, each an option without a value. Its value is in the
    /// word, or is the next word.
    Output { switches: usize, has_value: bool },
    /// Another option, whose value is the next word.
    ValueBefore,
}

/// The words behind `unspin`, the command first.
fn without_outputs(words: &[OsString]) -> Vec<OsString> {
    let all = CommandLine::command();
    let Some((name, rest)) = words.split_first() else { return Vec::new() };
    let Some(command) = all.find_subcommand(name) else { return words.to_vec() };
    // What follows the program is the program's.
    let runs_a_program = command.get_positionals().any(Arg::is_trailing_var_arg_set);
    let (mut kept, mut rest) = (vec![name.clone()], rest.iter());
    while let Some(word) = rest.next() {
        match find(command, word.as_bytes()) {
            Found::Output { switches, has_value } => {
                if switches > 0 {
                    kept.push(OsString::from_vec(word.as_bytes()[..=switches].to_vec()));
                }
                if !has_value {
                    rest.next();
                }
            }
            Found::ValueBefore => kept.extend(std::iter::once(word).chain(rest.next()).cloned()),
            Found::Other => {
                kept.push(word.clone());
                if word == "--" || runs_a_program && !word.as_bytes().starts_with(b"-") {
                    break;
                }
            }
        }
    }
    kept.extend(rest.cloned());
    kept
}

/// What a word of the command line is.
fn find(command: &Command, word: &[u8]) -> Found {
    let options =
        || command.get_arguments().filter(|arg| arg.get_long().is_some() || arg.get_short().is_some());
    if word.starts_with(b"--") {
        return options().find_map(|arg| long(arg, &word[2..])).unwrap_or(Found::Other);
    }
    let Some(letters) = word.strip_prefix(b"-") else { return Found::Other };
    // Joined short options: all but the last one have no value, and what follows one with a value is the value.
    for (place, letter) in letters.iter().enumerate() {
        let Some(arg) = options().find(|arg| shorts(arg).any(|short| short == char::from(*letter))) else {
            return Found::Other;
        };
        if takes_value(arg) {
            let has_value = place + 1 < letters.len();
            return match (is_output(arg), has_value) {
                (true, has_value) => Found::Output { switches: place, has_value },
                (false, true) => Found::Other,
                (false, false) => Found::ValueBefore,
            };
        }
    }
    Found::Other
}

/// What an option means, if `word`, the word behind `--`, is it.
fn long(arg: &Arg, word: &[u8]) -> Option<Found> {
    let aliases = arg.get_all_aliases().unwrap_or_default();
    let mut names = arg.get_long().into_iter().chain(aliases);
    names.find_map(|name| match word.strip_prefix(name.as_bytes())? {
        [] if !takes_value(arg) || arg.is_require_equals_set() => Some(Found::Other),
        [] if is_output(arg) => Some(Found::Output { switches: 0, has_value: false }),
        [] => Some(Found::ValueBefore),
        [b'=', ..] if is_output(arg) => Some(Found::Output { switches: 0, has_value: true }),
        [b'=', ..] => Some(Found::Other),
        _ => None,
    })
}

fn shorts(arg: &Arg) -> impl Iterator<Item = char> {
    arg.get_short().into_iter().chain(arg.get_all_short_aliases().unwrap_or_default())
}

fn is_output(arg: &Arg) -> bool {
    arg.get_long().is_some_and(|long| OUTPUTS.contains(&long))
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn repeated(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        without_outputs(&words).join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn command_to_repeat_names_no_output() {
        for (line, expected) in [
            (
                "prove --html x.html --json=y.json --runs 8 ./bench --json z",
                "prove --runs 8 ./bench --json z",
            ),
            ("prove --plan p.toml --ci --junit j.xml -- ./bench -o a", "prove --ci -- ./bench -o a"),
            ("prove --use-plan p.toml --quiet ./bench", "prove --use-plan p.toml --quiet ./bench"),
            ("meter -o out.txt --lens futex --firefox f.json -p 7", "meter --lens futex -p 7"),
            ("meter -oout.txt --record r.lock ./a", "meter ./a"),
            (
                "compare --before a.json b.json --json c.json --after d.json e.json",
                "compare --before a.json b.json --after d.json e.json",
            ),
            ("combine a.json --markdown m.md b.json", "combine a.json b.json"),
            (
                "prove --mutex-plan pl.toml --json rq.json --runs 6 ./b",
                "prove --mutex-plan pl.toml --runs 6 ./b",
            ),
            (
                "meter --lens off-cpu -ao o.txt --json r.json --seconds 1s",
                "meter --lens off-cpu -a --seconds 1s",
            ),
            ("meter -aoo.txt -p 7 --json=r.json", "meter -a -p 7"),
            ("scale --html s.html --cpus 1,2 ./a", "scale --cpus 1,2 ./a"),
        ] {
            assert_eq!(repeated(line), expected, "{line}");
        }
    }

    /// A new option with a file is an input, or one of [`OUTPUTS`].
    #[test]
    fn each_option_with_a_file_is_an_input_or_an_output() {
        const INPUTS: [&str; 4] = ["use-plan", "before", "after", "arena"];
        let all = CommandLine::command();
        for name in ["prove", "meter", "scale", "compare", "combine"] {
            let command = all.find_subcommand(name).unwrap();
            for arg in command.get_opts() {
                let names_file =
                    arg.get_value_names().is_some_and(|names| names.iter().any(|name| name.contains("FILE")));
                let long = arg.get_long().unwrap_or_default();
                assert_eq!(
                    names_file && !INPUTS.contains(&long),
                    OUTPUTS.contains(&long),
                    "unspin {name} --{long}"
                );
            }
        }
    }
}
