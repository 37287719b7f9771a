//! Rostedt 2008 on today's kernels: hackbench on the kernel with PREEMPT_RT and on the plain one.

use super::experiment::{Experiment, Pair, Size, words};
use super::hackbench;
use super::historical_report::HistoricalReport;
use super::published::Published;
use crate::options::ReportChoice;
use unspin_launch::error::Error;
use unspin_stats::Direction;
use unspin_trial::{Candidates, ProveCommand};

/// The comparison of kernels.
pub struct HackbenchKernels;

impl HistoricalReport for HackbenchKernels {
    fn choice(&self) -> ReportChoice {
        ReportChoice::Hackbench
    }

    fn name(&self) -> &'static str {
        "hackbench"
    }

    fn title(&self) -> &'static str {
        "Rostedt 2008: the real-time kernel with all patches, and the kernel without PREEMPT_RT"
    }

    fn published(&self) -> Vec<Published> {
        vec![hackbench::rt_to_vanilla()]
    }

    fn remarks(&self) -> &'static [&'static str] {
        &["\"Vanilla on this same box runs at 3.9 secs.\": one figure, no runs."]
    }

    fn obstacle(&self, _: &str) -> Option<Error> {
        unspin_vm::machine::require_qemu().err()
    }

    fn experiments(&self, size: Size, _: &str) -> Vec<Experiment> {
        let (load, time_budget_s) = match size {
            Size::Quick => ("hackbench 2 -l 20", 480),
            Size::Full => ("hackbench 50", 3600),
        };
        vec![Experiment {
            what: "hackbench on each kernel, booted for each run",
            in_brief: "the kernels",
            command: ProveCommand {
                time_budget_s,
                candidates: Candidates::Kernels(&["plain", "rt"]),
                metric: Some(("Time: ", Direction::LowerIsBetter)),
                command: words(load),
            },
            unit: "s",
            pairs: vec![Pair { what: "PREEMPT_RT → plain (the control)", before: "rt", after: "plain" }],
        }]
    }

    fn same(&self) -> &'static str {
        "groups of 20 senders and 20 receivers over sockets; the time that hackbench prints; two kernels of one version, of which one \
         has the real-time patch, with lateral stealing and adaptive spinning of its sleeping locks"
    }

    fn not_the_same(&self) -> &'static str {
        "both kernels run in virtual machines, each run in one that was booted for it. Where KVM does not work their instructions are \
         translated, and then not even ratios are those of a processor. The steps of 2008 cannot be taken apart: today's PREEMPT_RT has \
         all of them, and much more. --quick has 2 groups and 20 messages; the full size 50 groups and 100"
    }

    fn next(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("more CPUs:", "unspin prove --kernel plain,rt --vm-options '--cpus 4' hackbench 50"),
            ("the steps, in user space:", "unspin reproduce hackbench"),
        ]
    }
}
