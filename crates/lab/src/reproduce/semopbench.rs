//! Hartner 2002: semopbench on 2.5.44-mm2, without and with the patch "RCU IPC lock".

use super::experiment::{Experiment, Pair, Size, words};
use super::figure::Figure;
use super::historical_report::HistoricalReport;
use super::measured::Measured;
use super::prediction;
use super::published::{Published, Side};
use crate::options::ReportChoice;
use unspin_launch::replace::engine::Engine;
use unspin_stats::Direction;
use unspin_trial::{Candidates, ProveCommand};

/// The report.
pub struct Semopbench;

/// Seconds, runs 1 and 2: Hartner, lkml, 31 October 2002.
pub const STOCK: [f64; 2] = [515.1, 515.4];
/// Seconds with the patch.
pub const RCU: [f64; 2] = [46.7, 46.7];

/// CPUs of the report's machine.
const CPUS: u32 = 8;
/// The second experiment, in brief.
const LOCK_ALONE: &str = "lock alone";

const PAIRS: [Pair; 2] = [
    Pair { what: "one lock → RCU", before: "global", after: "rcu" },
    Pair { what: "this kernel (the control) → RCU", before: "kernel", after: "rcu" },
];

impl HistoricalReport for Semopbench {
    fn choice(&self) -> ReportChoice {
        ReportChoice::Semopbench
    }

    fn name(&self) -> &'static str {
        "semopbench"
    }

    fn title(&self) -> &'static str {
        "Hartner 2002: System V semaphores under one lock, and under RCU with a lock for each set"
    }

    fn published(&self) -> Vec<Published> {
        vec![Published {
            what: "-g 64 -s 16 -n 16384",
            source: "B. Hartner, lkml, 31 October 2002, table; McKenney 2003, table 5",
            cpus: CPUS,
            unit: "s",
            direction: Direction::LowerIsBetter,
            before: Side::new("2.5.44-mm2", Figure::Runs(STOCK.to_vec())),
            after: Side::new("2.5.44-mm2+rcu-ipc", Figure::Runs(RCU.to_vec())),
        }]
    }

    fn remarks(&self) -> &'static [&'static str] {
        &[
            "\"the test completes 10X faster\": the runs say 11.0 times.",
            "McKenney's table 5 names the kernels 2.5.42-mm2; Hartner measured 2.5.44-mm2.",
        ]
    }

    fn experiments(&self, size: Size, _: &str) -> Vec<Experiment> {
        let (load, lock, budgets) = match size {
            Size::Quick => ("-g 16 -s 16 -n 20", "-g 8 -s 1 -n 3000", [18, 8]),
            Size::Full => ("-g 64 -s 16 -n 16384", "-g 8 -s 1 -n 200000", [7200, 300]),
        };
        let experiment = |what, in_brief, load, time_budget_s| Experiment {
            what,
            in_brief,
            command: ProveCommand {
                time_budget_s,
                candidates: Candidates::Engines(&[Engine::Global, Engine::Rcu]),
                metric: None,
                command: words(&format!("semopbench {load}")),
            },
            unit: "s",
            pairs: PAIRS.to_vec(),
        };
        vec![
            experiment(
                "the report's load: processes that each sleep on a semaphore",
                "the load",
                load,
                budgets[0],
            ),
            experiment(
                "the lock alone: 8 processes that post to themselves and never sleep",
                LOCK_ALONE,
                lock,
                budgets[1],
            ),
        ]
    }

    /// The load of the report sleeps, which the model of the lock does not have.
    fn paragraphs(&self, measured: &[Measured]) -> Vec<String> {
        let lock_alone = measured.iter().find(|measured| measured.experiment.in_brief == LOCK_ALONE);
        lock_alone.and_then(|measured| prediction::of_lock_alone(measured, CPUS)).into_iter().collect()
    }

    fn same(&self) -> &'static str {
        "the benchmark's options and what each process does; one lock for all sets against RCU with a lock for each set, both \
         in the same rounds, with the kernel through the same hooks as the control"
    }

    fn not_the_same(&self) -> &'static str {
        "both engines are unspin's, in user space: no published kernel is run, and today's kernel has had the patch since 2.5.46. \
         With fewer CPUs fewer processes meet in the lock: 70 % of 8 CPUs spun for it then. A hand-off between sleepers costs as \
         much as a switch to another process with any lock, so the second experiment leaves the sleep out. The figure here is the \
         time of one repetition; the report gives that of all 16384. --quick has 16 groups instead of 64"
    }

    fn next(&self) -> &'static [(&'static str, &'static str)] {
        &[(
            "run it on a machine with more CPUs; see what a hand-off costs here:",
            "unspin profile --spin semopbench -g 64 -s 16 -n 500 -r",
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_ratio_are_those_of_the_report() {
        let mean = |runs: [f64; 2]| runs.iter().sum::<f64>() / 2.0;
        // Table 5 prints the averages 515.3 and 46.7.
        assert_eq!(format!("{:.2}", mean(STOCK)), "515.25");
        assert_eq!(format!("{:.1}", mean(RCU)), "46.7");
        let improvement = Semopbench.published()[0].improvement().unwrap();
        assert_eq!(format!("{:.1}", improvement.value), "11.0");
        assert!(improvement.interval.unwrap().lower > 10.0);
    }
}
