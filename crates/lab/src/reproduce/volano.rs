//! Hartner 2001: Lockmeter under VolanoMark on 2.4.4, with one run queue and with one for each CPU.

use super::experiment::{Experiment, Pair, Size, words};
use super::figure::Figure;
use super::historical_report::HistoricalReport;
use super::measured::Measured;
use super::published::{Published, Side};
use super::row::Row;
use crate::options::ReportChoice;
use unspin_launch::replace::run_queue::RunQueue;
use unspin_stats::Direction;
use unspin_trial::format::significant;
use unspin_trial::{Candidates, JudgedRunQueue, ProveCommand, Report, judged_run_queues};

/// The report.
pub struct Volano;

/// The lines of runqueue_lock.
struct Lockmeter {
    /// UTIL, in percent; of several locks the mean.
    util: f64,
    /// % CPU spent spinning, of all CPUs.
    spin: f64,
    /// "for a total of […] of the 8 CPUs".
    cpus: f64,
}

const GLOBAL: Lockmeter = Lockmeter { util: 76.3, spin: 47.4, cpus: 4.56 };
const PER_CPU: Lockmeter = Lockmeter { util: 6.85, spin: 0.34, cpus: 0.58 };

/// What the report says of the run queues' locks.
pub(super) fn published() -> Vec<Published> {
    let published = |what, unit, before: f64, after: f64| Published {
        what,
        source: "B. Hartner, \"VolanoMark 2.1.2 - SGI Lockmeter Data for 2.4.4 and 2.4.4+MQ Scheduler Kernel\", 2001",
        cpus: 8,
        unit,
        direction: Direction::LowerIsBetter,
        before: Side::new("2.4.4", Figure::Single(before)),
        after: Side::new("2.4.4+MQ", Figure::Single(after)),
    };
    vec![
        published("CPUs that runqueue_lock took", "CPUs", GLOBAL.cpus, PER_CPU.cpus),
        published("utilised, each lock", "%", GLOBAL.util, PER_CPU.util),
        published("spun for it", "%", GLOBAL.spin, PER_CPU.spin),
    ]
}

impl HistoricalReport for Volano {
    fn choice(&self) -> ReportChoice {
        ReportChoice::Volano
    }

    fn name(&self) -> &'static str {
        "volano"
    }

    fn title(&self) -> &'static str {
        "Hartner 2001: one run queue for all CPUs, and one for each, under VolanoMark 10/100"
    }

    fn published(&self) -> Vec<Published> {
        published()
    }

    fn remarks(&self) -> &'static [&'static str] {
        &[
            "4.56 CPUs are one lock's 76.3 % and 47.4 % of 8; 0.58 are eight locks' 6.85 % and 0.34 % of 8. The report states no \
             messages per second.",
        ]
    }

    fn experiments(&self, size: Size, _: &str) -> Vec<Experiment> {
        let (load, time_budget_s) = match size {
            Size::Quick => ("--rooms 5 --users 10 --messages 30 --runs 1", 20),
            Size::Full => ("", 900),
        };
        vec![Experiment {
            what: "messages per second on each run queue",
            in_brief: "messages",
            command: ProveCommand {
                time_budget_s,
                candidates: Candidates::RunQueues(&[RunQueue::Global, RunQueue::Percpu]),
                metric: None,
                command: words(&format!("volano {load}")),
            },
            unit: "messages/s",
            pairs: vec![Pair {
                what: "messages/s, one queue (the control) → one each",
                before: "global",
                after: "percpu",
            }],
        }]
    }

    fn metered_rows(&self, report: &Report) -> Vec<Row> {
        let judged = judged_run_queues(report);
        let [before, after] = &judged[..] else { return Vec::new() };
        let row = |what: &str, unit, figures| {
            let label = format!("here, {} CPUs: {what}", report.machine.cpus);
            Row::of_one_run(label, unit, Direction::LowerIsBetter, figures)
        };
        vec![
            row("CPUs that runqueue_lock took", "CPUs", [before.cpus, after.cpus]),
            row("utilised, each lock", "%", [100.0 * before.util_each, 100.0 * after.util_each]),
            row("spun for it", "%", [100.0 * before.spin_cpu, 100.0 * after.spin_cpu]),
        ]
    }

    /// How the CPUs of the first row add up from the times of Lockmeter's table.
    fn paragraphs(&self, measured: &[Measured]) -> Vec<String> {
        measured.iter().flat_map(|measured| sums(&measured.report)).collect()
    }

    fn same(&self) -> &'static str {
        "VolanoMark's loopback chat with its accounting, one run queue under one lock against one for each worker, and \
         Lockmeter's columns with the sentences that the report drew from them"
    }

    fn not_the_same(&self) -> &'static str {
        "the run queues are those of unspin's executor in user space, on worker threads: the chat runs as tasks. The kernel's \
         own run queues have been one for each CPU since 2.6, and are not replaced. There is no JVM. 2.4.4 looked at every runnable \
         thread under the lock; its holds took 8.8 us. The rows of Lockmeter come from one metered run \
         each; only messages per second are judged. --quick has 5 rooms of 10 users and 30 messages"
    }

    fn next(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("more workers than CPUs:", "unspin prove --runqueue global,percpu volano --workers 8"),
            ("the locks of the chat itself:", "unspin meter --format lockmeter volano"),
        ]
    }
}

/// How holding and spinning add up to the CPUs that runqueue_lock took here; none without both run queues.
fn sums(report: &Report) -> Option<String> {
    let judged = judged_run_queues(report);
    let [before, after] = &judged[..] else { return None };
    let sum = |one: &JudgedRunQueue<'_>| {
        format!(
            "{} with {} are {} locks' {} % each and {} % of {} CPUs",
            significant(one.cpus),
            one.candidate,
            one.locks,
            significant(100.0 * one.util_each),
            significant(100.0 * one.spin_cpu),
            report.machine.cpus
        )
    };
    Some(format!(
        "CPUs that runqueue_lock took here: {}; {}. Server and clients are two processes, and each has its run queues. The \
         CPUs are less than that sum if threads lost their CPU while they held the lock.",
        sum(before),
        sum(after)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Locks with the patch: one for each CPU.
    const LOCKS: f64 = 8.0;

    /// "for a total of 4.56 of the 8 CPUs" and "0.58": held by each lock, and spun by all CPUs.
    #[test]
    fn totals_are_those_of_the_columns() {
        for (lockmeter, locks) in [(GLOBAL, 1.0), (PER_CPU, LOCKS)] {
            let held = locks * lockmeter.util / 100.0;
            let spun = 8.0 * lockmeter.spin / 100.0;
            assert!((held + spun - lockmeter.cpus).abs() <= 0.011, "{}", held + spun);
        }
    }

    /// The lines of the callers add up to that of the lock.
    #[test]
    fn lines_of_the_callers_add_up() {
        let util = [8.8, 0.01, 0.0, 0.01, 58.3, 0.22, 0.01, 0.01, 9.0];
        let spin = [6.3, 0.01, 0.0, 0.0, 33.7, 0.21, 0.0, 0.0, 7.2];
        let total = [277_757, 1_241, 80, 523, 1_721_928, 10_145, 911, 804, 379_049];
        assert!((util.iter().sum::<f64>() - GLOBAL.util).abs() < 0.1);
        assert!((spin.iter().sum::<f64>() - GLOBAL.spin).abs() < 0.1);
        assert_eq!(total.iter().sum::<u32>(), 2_392_438);
        let util = [8.8, 0.01, 0.0, 35.8, 0.75, 2.8, 0.02, 0.0, 0.01, 0.0, 0.0, 0.01, 6.6];
        let spin = [0.08, 0.0, 0.0, 0.16, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.10];
        assert!((util.iter().sum::<f64>() / LOCKS - PER_CPU.util).abs() < 0.1);
        assert!((spin.iter().sum::<f64>() - PER_CPU.spin).abs() < 1e-9);
    }
}
