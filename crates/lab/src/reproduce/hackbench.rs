//! Rostedt 2008: hackbench 50 on the real-time kernel, patch by patch.

use super::experiment::{Experiment, Pair, Size, words};
use super::figure::Figure;
use super::historical_report::HistoricalReport;
use super::published::{Published, Side};
use crate::options::ReportChoice;
use unspin_locks::LockKind;
use unspin_stats::Direction;
use unspin_trial::{Candidates, ProveCommand};

/// The report.
pub struct Hackbench;

/// Seconds of ten runs of `hackbench 50` before the patches.
const STRICT: [f64; 10] = [16.651, 16.773, 16.500, 17.437, 16.267, 18.296, 16.524, 17.452, 18.595, 18.357];
/// With lateral lock stealing.
const STEALING: [f64; 10] = [7.853, 8.219, 7.967, 8.118, 8.195, 8.349, 8.122, 8.146, 8.197, 8.026];
/// Also without a double exchange.
const ONE_EXCHANGE: [f64; 10] = [7.741, 8.007, 8.061, 8.080, 8.105, 8.223, 8.207, 8.220, 8.230, 8.214];
/// Also with adaptive spinning.
const ADAPTIVE: [f64; 10] = [4.752, 4.830, 4.896, 4.858, 4.801, 4.885, 4.794, 4.883, 4.852, 4.911];
/// "Vanilla on this same box runs at 3.9 secs."
const VANILLA: f64 = 3.9;

fn runs(runs: [f64; 10]) -> Figure {
    Figure::Runs(runs.to_vec())
}

fn published(what: &'static str, (name, before): (&str, Figure), (to, after): (&str, Figure)) -> Published {
    Published {
        what,
        source: "S. Rostedt, lkml, 19 May 2008, lists of ten runs",
        cpus: 4,
        unit: "s",
        direction: Direction::LowerIsBetter,
        before: Side::new(name, before),
        after: Side::new(to, after),
    }
}

/// The real-time kernel with all patches, and the kernel without PREEMPT_RT.
pub(super) fn rt_to_vanilla() -> Published {
    published("rt → vanilla", ("rt + adaptive", runs(ADAPTIVE)), ("vanilla", Figure::Single(VANILLA)))
}

impl HistoricalReport for Hackbench {
    fn choice(&self) -> ReportChoice {
        ReportChoice::Hackbench
    }

    fn name(&self) -> &'static str {
        "hackbench"
    }

    fn title(&self) -> &'static str {
        "Rostedt 2008: real-time locks in strict order, with lateral stealing, with adaptive spinning"
    }

    fn published(&self) -> Vec<Published> {
        let strict = ("rt", runs(STRICT));
        let stealing = ("rt + stealing", runs(STEALING));
        let exchange = ("rt + one exchange", runs(ONE_EXCHANGE));
        let adaptive = ("rt + adaptive", runs(ADAPTIVE));
        vec![
            published("all patches", strict.clone(), adaptive.clone()),
            published("lateral stealing", strict, stealing.clone()),
            published("one exchange fewer", stealing, exchange.clone()),
            published("adaptive spinning", exchange, adaptive),
            rt_to_vanilla(),
        ]
    }

    fn remarks(&self) -> &'static [&'static str] {
        &[
            "\"from 18 seconds\": the mean of the ten runs is 17.3 s; \"almost 60%\" less by stealing: 53 %.",
            "\"No real performance benefits\" of one exchange fewer: the ten runs each prove none.",
        ]
    }

    fn experiments(&self, size: Size, _: &str) -> Vec<Experiment> {
        let (load, time_budget_s) = match size {
            Size::Quick => ("hackbench 5 -l 20 --transport queue", 26),
            Size::Full => ("hackbench 50 --transport queue", 1800),
        };
        vec![Experiment {
            what: "the mutexes of the queues",
            in_brief: "the queues",
            command: ProveCommand {
                time_budget_s,
                candidates: Candidates::Mutexes(&[LockKind::RtFair, LockKind::RtSteal, LockKind::RtAdaptive]),
                metric: None,
                command: words(load),
            },
            unit: "s",
            pairs: vec![
                Pair { what: "strict → adaptive, all steps", before: "rt-fair", after: "rt-adaptive" },
                Pair { what: "strict → stealing", before: "rt-fair", after: "rt-steal" },
                Pair { what: "stealing → adaptive", before: "rt-steal", after: "rt-adaptive" },
                Pair { what: "adaptive → libc's (the control)", before: "rt-adaptive", after: "system" },
            ],
        }]
    }

    fn same(&self) -> &'static str {
        "groups of 20 senders and 20 receivers; a lock that is handed over in strict order, that lock with lateral stealing by \
         tasks that are not real-time, and that with adaptive spinning"
    }

    fn not_the_same(&self) -> &'static str {
        "the locks are pthread mutexes of the benchmark's own queues; Rostedt's were the kernel's, under sockets, which no preload \
         library can replace. All of a group's threads meet in one mutex, so strict order costs more here than 4.4 times. The step \
         with one exchange fewer has no counterpart: the kinds here have one exchange from the start. --quick has 5 groups and 20 \
         messages; the full size 50 groups and 100"
    }

    fn next(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "libc's own mutex with priority inheritance beside them:",
                "unspin prove --time-budget 30m hackbench 50 --transport queue",
            ),
            ("the kernel's part of the time over sockets:", "unspin meter --lens kernel hackbench 50"),
            ("today's real-time kernel and the plain one:", "unspin reproduce hackbench --kernel"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::evidence;
    use super::*;

    #[test]
    fn means_are_those_that_other_documents_state() {
        let mean = |runs: [f64; 10]| runs.iter().sum::<f64>() / 10.0;
        let means = [STRICT, STEALING, ONE_EXCHANGE, ADAPTIVE].map(|runs| format!("{:.3}", mean(runs)));
        assert_eq!(means, ["17.285", "8.119", "8.109", "4.846"]);
        let less = 100.0 * (1.0 - mean(STEALING) / mean(STRICT));
        assert_eq!(format!("{less:.0}"), "53");
        let ratios: Vec<String> = Hackbench
            .published()
            .iter()
            .map(|published| format!("{:.2}", published.improvement().unwrap().value))
            .collect();
        assert_eq!(ratios, ["3.57", "2.13", "1.00", "1.67", "1.24"]);
    }

    #[test]
    fn every_step_but_the_exchange_is_proven() {
        let evidence = evidence::of_all(&Hackbench.published());
        let proven: Vec<Option<bool>> = evidence.iter().map(evidence::Evidence::proves_means).collect();
        assert_eq!(proven, [Some(true), Some(true), Some(false), Some(true), None]);
    }
}
