//! Hartner 2002: the kernel's profile of semopbench, read by readprofile.

use super::experiment::{Experiment, Pair, Size, words};
use super::figure::Figure;
use super::historical_report::HistoricalReport;
use super::published::{Published, Side};
use crate::options::ReportChoice;
use unspin_launch::command::lab;
use unspin_launch::error::Error;
use unspin_launch::replace::engine::Engine;
use unspin_observe::profile;
use unspin_stats::Direction;
use unspin_trial::{Candidates, ProveCommand};

/// The report.
pub struct Profile;

/// Percent of 8 CPUs that spun on .text.lock.sem.
const SPINNING: f64 = 70.0;

/// What the report says of the spinning.
pub(super) fn published() -> Vec<Published> {
    vec![Published {
        what: "CPU time that does not spin",
        source: "B. Hartner, lkml, 31 October 2002, text: \"70 % of 8 CPUs spinning on .text.lock.sem\", \"the spin on \
                 .text.lock.sem is gone\"",
        cpus: 8,
        unit: "%",
        direction: Direction::HigherIsBetter,
        before: Side::new("2.5.44-mm2", Figure::Single(100.0 - SPINNING)),
        after: Side::new("2.5.44-mm2+rcu-ipc", Figure::Words("\"gone\"")),
    }]
}

impl HistoricalReport for Profile {
    fn choice(&self) -> ReportChoice {
        ReportChoice::Profile
    }

    fn name(&self) -> &'static str {
        "profile"
    }

    fn title(&self) -> &'static str {
        "Hartner 2002: which share of the CPUs spins for the lock, by readprofile"
    }

    fn published(&self) -> Vec<Published> {
        published()
    }

    fn remarks(&self) -> &'static [&'static str] {
        &["The profiles themselves are not in the archived message, only the sentences above them."]
    }

    fn obstacle(&self, _: &str) -> Option<Error> {
        profile::obstacle()
    }

    fn experiments(&self, size: Size, _: &str) -> Vec<Experiment> {
        let (load, time_budget_s) = match size {
            Size::Quick => ("-g 8 -s 1 -n 5000", 50),
            Size::Full => ("-g 64 -s 16 -n 500", 900),
        };
        // The name of a workload means the workload. The profiler has none, so its file is named.
        let unspin = lab::find_unspin().unwrap_or_else(|_| "unspin".into());
        let mut command = vec![unspin.to_string_lossy().into_owned()];
        command.extend(words(&format!("profile --user --spin -F 4999 semopbench {load} -r")));
        vec![Experiment {
            what: "ticks of semopbench outside the loops that spin for a lock",
            in_brief: "the ticks",
            command: ProveCommand {
                time_budget_s,
                candidates: Candidates::Engines(&[Engine::Global, Engine::Rcu]),
                metric: Some(("not spinning for a lock", Direction::HigherIsBetter)),
                command,
            },
            unit: "%",
            pairs: vec![
                Pair { what: "one lock → RCU", before: "global", after: "rcu" },
                Pair { what: "this kernel (the control) → RCU", before: "kernel", after: "rcu" },
            ],
        }]
    }

    fn same(&self) -> &'static str {
        "semopbench under a profiler that counts ticks by function, the counters set to zero when the test starts (-r), and the \
         sum of the functions that only spin"
    }

    fn not_the_same(&self) -> &'static str {
        "the lock is that of unspin's engine global, in user space, so the ticks of programs count too; Hartner's profile had only the \
         kernel. The engine's waiters spin for a bounded time and then sleep; a kernel of 2002 spun without bound. Ticks come from a \
         perf clock of each CPU, those of other programs are left out, and idle time has none. --quick takes the load in which \
         processes never sleep; the full size that of the report, with fewer repetitions"
    }

    fn next(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "see the functions themselves:",
                "unspin profile --user --spin semopbench -g 64 -s 16 -n 500 -r",
            ),
            (
                "the same under another engine:",
                "unspin profile --user --spin -- unspin run --sysv global semopbench -g 64 -s 16 -n 500 -r",
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::evidence;
    use super::*;

    #[test]
    fn sentence_without_runs_cannot_be_judged() {
        let published = Profile.published();
        assert_eq!(published[0].before.figure.mean(), Some(30.0));
        assert_eq!(published[0].improvement(), None, "\"gone\" is no figure");
        assert_eq!(evidence::of_all(&published)[0].proves_means(), None);
    }
}
