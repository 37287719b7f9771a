//! What to do next: all that a recording or a lens says of it stands here.
//!
//! | module | advises on |
//! |---|---|
//! | `finding` | a lock or a condition that costs time: the cause, a change of the program, the command that tries a replacement |
//! | `polling` | waits that polling before sleeping could shorten |
//! | `stated_time` | a program that runs for a fixed time, whose time a proof cannot compare |
//! | `lens` | a row of a lens that reads the kernel's events |
//! | `command` | the program's command line in the commands above |
//! | `advice` | how a text is laid out, with its command |
//! | `statement` | a paragraph of a report: sentences and commands |

mod advice;
mod command;
mod finding;
pub mod lens;
mod polling;
mod stated_time;
mod statement;
mod step;
mod subject;
mod worth;

pub use self::advice::{Next, Said};
pub use self::finding::{Cause, Finding};
pub(crate) use self::polling::WORTH_POLLING;
pub use self::stated_time::stated_time;
pub use self::statement::Statement;
pub use self::step::Step;
pub use self::subject::Subject;
pub use self::worth::{WORTH_IT, is_worth_it, is_worth_share};
use crate::figures::number;
use crate::paragraph::wrap;
use crate::report::MeterReport;

/// Writes what to do next, and what to consider in a proof.
pub(crate) fn write(report: &MeterReport, width: usize, text: &mut String) {
    for statement in report.statements() {
        statement.write(width, text);
    }
    if let Some(note) = report.note_on_proof() {
        wrap(&note, width, text);
    }
}

impl MeterReport {
    /// What the figures mean, the most important first, and what to do next: about waits, and about locks and conditions, first
    /// whichever costs more. A deadlock is all there is to say, and a storm of broadcasts is the cause of the waits for its
    /// condition. Empty if no lock and no wait costs time.
    pub fn statements(&self) -> Vec<Statement> {
        let found = self.findings();
        let (cause, storms) = (found.first().map(|finding| finding.cause), storms(&found));
        let polling = polling::statement(self, &storms);
        let locks = of_locks(self, &found);
        match cause {
            Some(Cause::Deadlock) => locks,
            Some(Cause::BroadcastStorm) => locks.into_iter().chain(polling).collect(),
            _ if self.waits_cost_more() => polling.into_iter().chain(locks).collect(),
            _ => locks.into_iter().chain(polling).collect(),
        }
    }

    /// What to consider when the program is proven as the statements advise; none if nothing is to be considered.
    pub fn note_on_proof(&self) -> Option<String> {
        let statements = self.statements();
        let mut commands = statements.iter().flat_map(|statement| &statement.commands);
        let has_proof = commands.any(|(_, command)| command.contains("unspin prove "));
        has_proof.then(|| stated_time::note(self)).flatten()
    }
}

/// The conditions with a storm of broadcasts.
fn storms(found: &[Finding]) -> Vec<&str> {
    let storms = found.iter().filter(|finding| finding.cause == Cause::BroadcastStorm);
    storms.map(|finding| finding.name.as_str()).collect()
}

/// The findings, each with what to do next; or that no lock matters.
fn of_locks(report: &MeterReport, findings: &[Finding]) -> Vec<Statement> {
    match findings {
        [] => worst(report).into_iter().map(Statement::new).collect(),
        _ => findings.iter().map(Statement::of_finding).collect(),
    }
}

/// The lock for which most time was lost, if its time could not be explained; or that no lock matters.
fn worst(report: &MeterReport) -> Option<String> {
    let worst = report.locks.first().filter(|lock| lock.row.lost > 0.0)?;
    let best = report.locks.iter().map(|lock| lock.row.ceiling).fold(1.0, f64::max);
    Some(if report.is_disturbed() && worst.row.spin == 0.0 {
        worst.sleepers_without_bound()
    } else if best < WORTH_IT && !report.is_disturbed() {
        let best = number(best);
        format!(
            "No lock here is worth the time: without any one of them the program could be at most {best}x as fast."
        )
    } else if worst.row.spin > 0.0 {
        worst.headline(report.cpus)
    } else {
        worst.sleepers()
    })
}
