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

mod advice;
mod command;
mod finding;
pub mod lens;
mod polling;
mod stated_time;
mod step;
mod subject;
mod worth;

pub use self::advice::{Next, Said};
pub use self::finding::{Cause, Finding};
pub(crate) use self::polling::WORTH_POLLING;
pub use self::stated_time::stated_time;
pub use self::step::Step;
pub use self::subject::Subject;
pub use self::worth::{WORTH_IT, is_worth_it, is_worth_share};
use crate::figures::number;
use crate::paragraph::wrap;
use crate::report::MeterReport;

/// Writes what to do next, and what to consider in a proof.
pub(crate) fn write(report: &MeterReport, width: usize, text: &mut String) {
    write_steps(report, width, text);
    if text.contains("unspin prove ")
        && let Some(note) = stated_time::note(report)
    {
        wrap(&note, width, text);
    }
}

/// What to do about waits, and about locks and conditions: first whichever costs more. A deadlock is all there is to
/// say, and a storm of broadcasts is the cause of the waits for its condition.
fn write_steps(report: &MeterReport, width: usize, text: &mut String) {
    let found = report.findings();
    let (cause, storms) = (found.first().map(|finding| finding.cause), storms(&found));
    let polling = |text: &mut String| polling::write(report, &storms, width, text);
    match cause {
        Some(Cause::Deadlock) => findings(report, &found, width, text),
        Some(Cause::BroadcastStorm) => {
            findings(report, &found, width, text);
            polling(text);
        }
        _ if report.waits_cost_more() => {
            polling(text);
            findings(report, &found, width, text);
        }
        _ => {
            findings(report, &found, width, text);
            polling(text);
        }
    }
}

/// The conditions with a storm of broadcasts.
fn storms(found: &[Finding]) -> Vec<&str> {
    let storms = found.iter().filter(|finding| finding.cause == Cause::BroadcastStorm);
    storms.map(|finding| finding.name.as_str()).collect()
}

/// The findings, each with what to do next; or that no lock matters.
fn findings(report: &MeterReport, findings: &[Finding], width: usize, text: &mut String) {
    for finding in findings {
        text.push('\n');
        wrap(&finding.text, width, text);
        finding.next.write(width, text);
    }
    if findings.is_empty() {
        worst(report, width, text);
    }
}

/// The lock for which most time was lost, if its time could not be explained; or that no lock matters.
fn worst(report: &MeterReport, width: usize, text: &mut String) {
    let Some(worst) = report.locks.first().filter(|lock| lock.row.lost > 0.0) else { return };
    let best = report.locks.iter().map(|lock| lock.row.ceiling).fold(1.0, f64::max);
    let sentence = if report.is_disturbed() && worst.row.spin == 0.0 {
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
    };
    text.push('\n');
    wrap(&sentence, width, text);
}
