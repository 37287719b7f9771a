//! The commands of schedulers, as the command line names them.

use crate::command::words;
use crate::error::Error;
use std::ffi::OsString;

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
