//! What is observed, in the commands that reports suggest.

use crate::shell;
use std::ffi::OsString;

/// What is observed: the part of a command line behind the options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A program that unspin starts, with its arguments.
    Program(Vec<OsString>),
    /// A running process.
    Process(u32),
    /// All processes, while a program runs if there is one.
    System(Vec<OsString>),
}

/// How long a suggested command observes all processes.
const SECONDS: &str = "--seconds 10";

impl Subject {
    /// `unspin meter --lens futex ./server -t2`: a command that observes the same.
    pub fn observed_by(&self, command: &str) -> String {
        match self {
            Subject::Program(words) => format!("unspin {command} {}", shell::line(words)),
            Subject::Process(pid) => format!("unspin {command} -p {pid}"),
            Subject::System(words) if words.is_empty() => format!("unspin {command} -a {SECONDS}"),
            Subject::System(words) => format!("unspin {command} -a {}", shell::line(words)),
        }
    }

    /// A command that starts the program anew; none if unspin did not start it.
    pub fn started_by(&self, command: &str) -> Option<String> {
        match self {
            Subject::Program(words) | Subject::System(words) if !words.is_empty() => {
                Some(format!("{command} {}", shell::line(words)))
            }
            _ => None,
        }
    }

    /// The program's words; empty if unspin did not start it.
    pub fn words(&self) -> &[OsString] {
        match self {
            Subject::Program(words) | Subject::System(words) => words,
            Subject::Process(_) => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_observe_the_same() {
        let program = Subject::Program(vec!["./server".into(), "a b".into()]);
        assert_eq!(program.observed_by("meter --lens futex"), "unspin meter --lens futex ./server 'a b'");
        assert_eq!(program.started_by("unspin prove").as_deref(), Some("unspin prove ./server 'a b'"));
        let process = Subject::Process(7);
        assert_eq!(process.observed_by("profile --user"), "unspin profile --user -p 7");
        assert_eq!(process.started_by("unspin prove"), None);
        assert_eq!(
            Subject::System(Vec::new()).observed_by("meter --lens futex"),
            "unspin meter --lens futex -a --seconds 10"
        );
        let with_program = Subject::System(vec!["./server".into()]);
        assert_eq!(with_program.observed_by("profile"), "unspin profile -a ./server");
        assert_eq!(with_program.started_by("unspin prove").as_deref(), Some("unspin prove ./server"));
    }
}
