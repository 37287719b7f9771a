//! The lock tables of the run queues: those of Hartner 2001, and his conclusion.

use super::super::format::paragraph;
use super::super::locks::Metered;
use super::super::report::Report;
use super::super::run_queues::{JudgedRunQueue, judged_run_queues};
use crate::next;
use std::fmt::{self, Formatter};
use unspin_report::MeterReport;
use unspin_report::figures::{Percent, number};
use unspin_runqueue::lock::LOCK_NAME;

/// Prints a table for each run queue, the comparison of their costs, and what to do next.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    if !report.is_about_run_queues() {
        return Ok(());
    }
    write_tables(f, report)?;
    if let Some(next) = next::run_queues::next(report, &judged_run_queues(report)) {
        next::write(f, &next)?;
    }
    writeln!(f)
}

/// Prints a table for each run queue, and the comparison of their costs.
pub fn write_tables(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let run_queues = judged_run_queues(report);
    if !run_queues.is_empty() {
        writeln!(f, "The locks of the run queues, in one metered run each\n")?;
    }
    for run_queue in &run_queues {
        let metered = report.locks.metered.iter().find(|metered| metered.candidate == run_queue.candidate);
        let Some(metered) = metered else { continue };
        writeln!(f, "{}\n{}", run_queue.candidate, table(&metered.report))?;
        writeln!(f, "{}", paragraph(&conclusion(run_queue, metered), 0))?;
    }
    if let [_, _, ..] = &run_queues[..] {
        let cpus = report.locks.metered.first().map_or(0, |metered| metered.report.cpus);
        write!(f, "{}", paragraph(&comparison(&run_queues, cpus), 0))?;
    }
    Ok(())
}

/// Lockmeter's table with the totals of all locks, and the lock of the run queues.
fn table(report: &MeterReport) -> String {
    let mut report = report.clone();
    report.locks.retain(|lock| lock.row.name == LOCK_NAME);
    report.lockmeter()
}

/// Hartner's sentence. The columns add up to more if threads were preempted while they held the lock or spun for it.
fn conclusion(run_queue: &JudgedRunQueue<'_>, metered: &Metered) -> String {
    let sentence = run_queue.lock.headline(metered.report.cpus);
    let columns: f64 = run_queue.lock.uses.iter().map(|one| one.row.cpus).sum();
    match number(columns) == number(run_queue.cpus) {
        true => sentence,
        false => format!(
            "{sentence} (UTIL + %CPU x {} is {}: threads were preempted while they held the lock or spun for it. The \
             program used {} CPUs.)",
            metered.report.cpus,
            number(columns),
            number(metered.cpu_s / metered.elapsed_s)
        ),
    }
}

/// Costs of less than this share of the CPUs have no ratio: it would be that of the noise.
const TOO_LITTLE: f64 = 0.005;

/// "runqueue_lock: utilized 76.3 %, spun 47.4 %, 4.56 of the 8 CPUs with global; … with percpu: 1/7.9 of it."
fn comparison(run_queues: &[JudgedRunQueue<'_>], cpus: u32) -> String {
    let least = TOO_LITTLE * f64::from(cpus);
    let can_compare = run_queues.iter().any(|run_queue| run_queue.cpus >= least);
    let parts = run_queues.iter().map(|run_queue| {
        let each = if run_queue.locks == 1 { "" } else { " each" };
        let of_control = match run_queue.of_control.filter(|_| can_compare) {
            Some(share) if share > 0.0 && share < 1.0 => format!(": 1/{} of it", number(1.0 / share)),
            Some(share) => format!(": {} times that", number(share)),
            None => String::new(),
        };
        format!(
            "utilized {}{each}, spun {}, {} of the {cpus} CPUs with {}{of_control}",
            Percent::ThreeDigits.of(run_queue.util_each),
            Percent::ThreeDigits.of(run_queue.spin_cpu),
            number(run_queue.cpus),
            run_queue.candidate
        )
    });
    let reason = if can_compare { "" } else { " Too little to compare." };
    format!("{LOCK_NAME}: {}.{reason}", parts.collect::<Vec<_>>().join("; "))
}
