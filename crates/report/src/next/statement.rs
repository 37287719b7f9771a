//! What a report states about a lock or a wait: sentences, and commands that can be typed.

use super::advice::write_command;
use super::finding::Finding;
use crate::paragraph::wrap;

/// A paragraph of a report. Printed reports and pages show the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// Sentences, each a line of its own in print. There is at least one.
    pub sentences: Vec<String>,
    /// Commands, each with the words before it: `Prove it:`.
    pub commands: Vec<(&'static str, String)>,
}

impl Statement {
    /// One sentence.
    pub(super) fn new(sentence: String) -> Statement {
        Statement { sentences: vec![sentence], commands: Vec::new() }
    }

    /// A finding, with what to do next.
    pub(super) fn of_finding(finding: &Finding) -> Statement {
        let command = finding.next.command.clone();
        Statement {
            sentences: vec![finding.text.clone(), finding.next.sentence()],
            commands: command.map(|command| (PROVE_IT, command)).into_iter().collect(),
        }
    }

    /// Writes an empty line and the paragraph.
    pub(super) fn write(&self, width: usize, text: &mut String) {
        text.push('\n');
        for sentence in &self.sentences {
            wrap(sentence, width, text);
        }
        for (label, command) in &self.commands {
            write_command(label, command, text);
        }
    }
}

/// The words before a command that compares.
pub(super) const PROVE_IT: &str = "Prove it:";
