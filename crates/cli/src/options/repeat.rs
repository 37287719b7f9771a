//! The command line that repeats what this one has done, for results.

use super::CommandLine;
use clap::{Arg, ArgAction, CommandFactory};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

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
    /// An option for a result, with its value.
    Output,
    /// An option for a result, whose value is the next word.
    OutputBefore,
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
        let found =
            command.get_arguments().find_map(|arg| find(arg, word.as_bytes())).unwrap_or(Found::Other);
        match found {
            Found::Output => {}
            Found::OutputBefore => drop(rest.next()),
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

/// Whether a word is this option; none if it is not.
fn find(arg: &Arg, word: &[u8]) -> Option<Found> {
    let long = arg.get_long().map(|long| format!("--{long}"));
    let short = arg.get_short().map(|short| format!("-{short}"));
    let is_output = arg.get_long().is_some_and(|long| OUTPUTS.contains(&long));
    let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let is = |spelling: &Option<String>| spelling.as_ref().is_some_and(|name| name.as_bytes() == word);
    if is(&long) || is(&short) {
        return Some(match (takes_value && !arg.is_require_equals_set(), is_output) {
            (true, true) => Found::OutputBefore,
            (true, false) => Found::ValueBefore,
            (false, _) => Found::Other,
        });
    }
    let has_value = |spelling: &Option<String>, mark: &str| {
        let name = spelling.as_ref().map(|name| format!("{name}{mark}"));
        name.is_some_and(|name| word.starts_with(name.as_bytes()))
    };
    let is_whole = has_value(&long, "=") || takes_value && has_value(&short, "");
    is_whole.then_some(if is_output { Found::Output } else { Found::Other })
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
