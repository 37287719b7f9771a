//! The commands of schedulers, as the command line names them.

use crate::command::words;
use crate::error::Error;
use crate::program::Program;
use std::ffi::OsString;
use std::process::Command;

/// The option that names schedulers.
const OPTION: &str = "--scheduler";

/// A command that loads a scheduler and keeps running.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchedulerCommand {
    /// As the user wrote it.
    pub line: String,
    /// Its words.
    pub words: Vec<OsString>,
}

impl SchedulerCommand {
    /// Splits a command as the shell does.
    pub fn parse(line: &str) -> Result<SchedulerCommand, Error> {
        let line = line.trim();
        Ok(SchedulerCommand { line: line.to_owned(), words: words::words(OPTION, line)? })
    }

    /// Finds its program as a shell does. The error names the option.
    pub fn find(&self) -> Result<Program, Error> {
        let named = |text: String| format!("{OPTION} '{}': {text}", self.line);
        Program::find_any(&self.words).map_err(|error| match error {
            Error::NotFound(text) => Error::NotFound(named(text)),
            Error::CannotRun(text) => Error::CannotRun(named(text)),
            other => other,
        })
    }

    /// Finds the program that runs under it. A scheduler's arguments without quotes are taken for one.
    pub fn find_beside(&self, command: &[OsString]) -> Result<Program, Error> {
        Program::find_any(command).map_err(|error| match error {
            Error::NotFound(text) if self.words.len() == 1 => Error::NotFound(format!(
                "{text}; a scheduler and its arguments stand in quotes: {OPTION} '{} …'",
                self.line
            )),
            other => other,
        })
    }

    /// A process of it that can be started.
    pub fn process(&self) -> Command {
        let (program, arguments) = self.words.split_first().expect("a command is not empty");
        let mut process = Command::new(program);
        process.args(arguments);
        process
    }
}

/// Splits a list of commands at the commas outside quotes: `scx_rusty,"scx_layered --cpus 0,1"` are two.
pub fn split(list: &str) -> Vec<String> {
    let (mut parts, mut quote, mut is_escaped) = (vec![String::new()], None, false);
    for character in list.chars() {
        match (quote, character) {
            _ if is_escaped => is_escaped = false,
            (None | Some('"'), '\\') => is_escaped = true,
            (Some(mark), _) if mark == character => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, ',') => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("there is one").push(character);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_outside_quotes_separate_commands() {
        assert_eq!(split("scx_lavd"), ["scx_lavd"]);
        assert_eq!(split("unspin-sched global,unspin-sched mq"), ["unspin-sched global", "unspin-sched mq"]);
        assert_eq!(split(r#"a --cpus "0,1",b '2,3' \,"#), [r#"a --cpus "0,1""#, r"b '2,3' \,"]);
    }

    #[test]
    fn missing_program_beside_one_word_may_be_an_argument_of_the_scheduler() {
        let said = |line: &str| {
            let scheduler = SchedulerCommand::parse(line).unwrap();
            scheduler.find_beside(&["no-such-program".into()]).unwrap_err().to_string()
        };
        assert!(said("scx").ends_with("a scheduler and its arguments stand in quotes: --scheduler 'scx …'"));
        assert!(!said("scx a").contains("quotes"));
    }

    #[test]
    fn words_are_those_of_the_shell() {
        let command = SchedulerCommand::parse(" scx_lavd --slice '1 ms' ").unwrap();
        assert_eq!(command.line, "scx_lavd --slice '1 ms'");
        assert_eq!(command.words, ["scx_lavd", "--slice", "1 ms"]);
        for (line, said) in
            [("scx 'a", "--scheduler 'scx 'a': a quote is not closed"), ("", "--scheduler is empty")]
        {
            let error = SchedulerCommand::parse(line).unwrap_err();
            assert!(matches!(&error, Error::Usage(text) if text.contains(said)), "{error}");
        }
    }
}
