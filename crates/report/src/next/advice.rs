//! What to do next: what a user reads of it, and how it is laid out.
//!
//! Every text that tells a user what to do next about a result is a [`Next`]. Those about a recording or a lens are in the
//! folder of this file, those about a comparison in `next` of the crate `trial`.

use super::step::Step;
use super::subject::Subject;
use crate::paragraph::add_note;
use serde::Serialize;
use std::fmt::Write;

/// What to do next.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Next {
    /// In words.
    #[serde(rename = "next")]
    pub text: String,
    /// The command for the next step, as the user can type it; none if unspin has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Columns before what is to be done next about a row of a table.
const INDENT: usize = 4;

impl Next {
    /// In words, without a command.
    pub fn new(text: impl Into<String>) -> Next {
        Next { text: text.into(), command: None }
    }

    /// In words, with the command for what is observed. The colon at the end is dropped if there is no command.
    pub fn with_step(text: &str, step: Step, subject: &Subject) -> Next {
        let command = step.command(subject);
        // A colon announces the command.
        let text = if command.is_none() { text.trim_end_matches(':') } else { text };
        Next { text: text.to_owned(), command }
    }

    /// The words as a sentence of a report.
    pub fn sentence(&self) -> String {
        format!("Next: {}", self.text)
    }

    /// Writes a paragraph under the row of a table, and the command in a line of its own that can be copied.
    pub fn write_under_row(&self, width: usize, text: &mut String) {
        let mut lines = String::new();
        add_note(&self.text, width.saturating_sub(INDENT + 3).max(40), &mut lines);
        for (number, line) in lines.lines().enumerate() {
            let mark = if number == 0 { "->" } else { "  " };
            let _ = writeln!(text, "{:INDENT$}{mark} {line}", "");
        }
        if let Some(command) = &self.command {
            let _ = writeln!(text, "{:INDENT$}   {command}", "");
        }
    }
}

/// Writes a command in a line of its own, behind a word that says what it is for.
pub(super) fn write_command(label: &str, command: &str, text: &mut String) {
    let _ = writeln!(text, "{label:<9} {command}");
}

/// What was said under the rows of a table, so that nothing is said twice.
#[derive(Default)]
pub struct Said(Vec<(Next, String)>);

impl Said {
    /// Writes what to do next under a row. If an earlier row has the same, names that row instead.
    pub fn write(&mut self, next: &Next, row: &str, width: usize, text: &mut String) {
        match self.0.iter().find(|(said, _)| said == next) {
            Some((_, earlier)) => {
                let _ = writeln!(text, "{:INDENT$}-> as under {earlier}", "");
            }
            None => {
                next.write_under_row(width, text);
                self.0.push((next.clone(), row.to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_hint_is_written_once() {
        let (mut text, mut said) = (String::new(), Said::default());
        let subject = Subject::Process(7);
        let hints =
            [Step::Profile, Step::Profile, Step::OffCpu].map(|step| Next::with_step("look:", step, &subject));
        for (hint, row) in hints.iter().zip(["first", "second", "third"]) {
            said.write(hint, row, 80, &mut text);
        }
        let other = "    -> look:\n       unspin meter --lens off-cpu -p 7\n";
        assert_eq!(text, format!("    -> look:\n       unspin profile -p 7\n    -> as under first\n{other}"));
    }

    #[test]
    fn command_has_a_line_of_its_own() {
        let mut text = String::new();
        Next::with_step("look at its callers", Step::Profile, &Subject::Process(7))
            .write_under_row(80, &mut text);
        assert_eq!(text, "    -> look at its callers\n       unspin profile -p 7\n");
    }
}
