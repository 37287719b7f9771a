//! The result of a comparison of run queues.

use crate::report::Report;
use crate::run_queues::JudgedRunQueue;
use unspin_launch::output::shell;
use unspin_report::next::Next;
use unspin_stats::Verdict;

/// The control's run-queue lock costs too little for a gain by another run queue: this share of the CPUs.
const LITTLE: f64 = 0.02;

/// What to do with the result; none if nothing is known.
pub fn next(report: &Report, run_queues: &[JudgedRunQueue<'_>]) -> Option<Next> {
    let command = shell::line(&report.command);
    let judged =
        report.configurations.iter().find(|configuration| configuration.judged_run_queue().is_some())?;
    let control = report.configurations.first()?;
    let comparison = report.comparison(judged)?;
    let winner = match &comparison.verdict {
        Verdict::ProvenFaster { .. } if comparison.recommended().is_some() => judged,
        verdict if verdict.is_slower() => control,
        Verdict::ProvenFaster { .. } => return None,
        Verdict::NothingProven { .. } => {
            let cpus = report.locks.metered.first().map_or(1, |metered| metered.report.cpus);
            let costs_little =
                run_queues.first().is_some_and(|control| control.cpus < LITTLE * f64::from(cpus));
            return Some(Next::new(match costs_little {
                true => format!(
                    "the lock of the control's run queue costs little, so that another run queue gains little; see where \
                     the time goes: unspin meter -- {command}"
                ),
                false => format!(
                    "give it more rounds: unspin prove --time-budget 5m --runqueue {} -- {command}",
                    names(report)
                ),
            }));
        }
        _ => return None,
    };
    Some(Next::new(match report.run_queue_of(winner) {
        Some(run_queue) => format!(
            "unspin run --runqueue {name} -- {command}; or set UNSPIN_RUNQUEUE={name}; or in the program \
             Builder::policy(Policy::{:?})",
            run_queue.policy(),
            name = run_queue.name(),
        ),
        None => "keep the run queue that the program chooses".into(),
    }))
}

/// The run queues as on the command line.
fn names(report: &Report) -> String {
    let judged = report.configurations.iter().filter_map(|configuration| configuration.judged_run_queue());
    let names: Vec<&str> =
        report.run_queue.into_iter().chain(judged).map(|run_queue| run_queue.name()).collect();
    names.join(",")
}
