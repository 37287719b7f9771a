//! Hartner 2001 on today's kernels: VolanoMark's threads under two schedulers of sched_ext.

use super::experiment::{Experiment, Pair, Size, words};
use super::historical_report::HistoricalReport;
use super::observation::Observation;
use super::published::Published;
use super::volano;
use crate::options::ReportChoice;
use std::time::Duration;
use unspin_launch::error::Error;
use unspin_launch::program::Program;
use unspin_trial::{Candidates, OWN_SCHEDULER, ProveCommand};

/// The comparison of schedulers.
pub struct VolanoKernels;

/// The kernel, and the schedulers.
const KERNEL: &str = "cloud";
const GLOBAL: &str = "unspin-sched global";
const MQ: &str = "unspin-sched mq";

fn load(size: Size) -> &'static str {
    match size {
        Size::Quick => "volano --model threads --rooms 1 --users 10 --messages 10 --runs 1",
        Size::Full => "volano --model threads",
    }
}

impl HistoricalReport for VolanoKernels {
    fn choice(&self) -> ReportChoice {
        ReportChoice::Volano
    }

    fn name(&self) -> &'static str {
        "volano"
    }

    fn title(&self) -> &'static str {
        "Hartner 2001: one run queue for all CPUs, and one for each, as schedulers in the kernel"
    }

    fn published(&self) -> Vec<Published> {
        volano::published()
    }

    fn obstacle(&self, _: &str) -> Option<Error> {
        let has_sched = Program::find_any(&["unspin-sched".into()]).is_ok();
        let missing = "there is no unspin-sched in PATH, which has the schedulers: cargo install --path crates/sched --features bpf";
        unspin_vm::machine::require_qemu()
            .err()
            .or_else(|| (!has_sched).then(|| Error::NotFound(missing.into())))
    }

    fn experiments(&self, size: Size, _: &str) -> Vec<Experiment> {
        vec![Experiment {
            what: "messages per second under each scheduler, the kernel booted for each run",
            in_brief: "messages",
            command: ProveCommand {
                time_budget_s: if size == Size::Quick { 900 } else { 3600 },
                candidates: Candidates::Schedulers { kernel: KERNEL, commands: &[GLOBAL, MQ] },
                metric: None,
                command: words(load(size)),
            },
            unit: "messages/s",
            pairs: vec![
                Pair { what: "messages/s, one queue → one each", before: GLOBAL, after: MQ },
                Pair {
                    what: "messages/s, the kernel's own (the control) → one each",
                    before: OWN_SCHEDULER,
                    after: MQ,
                },
            ],
        }]
    }

    fn observations(&self, size: Size) -> Vec<Observation> {
        let limit = Duration::from_secs(if size == Size::Quick { 240 } else { 1800 });
        let of = |what, scheduler| {
            let mut command = words("unspin vm --quiet --hide-hypervisor --kernel");
            command.extend([KERNEL, "--"].map(String::from));
            command.extend(words(&format!("{scheduler} --locks -- unspin {}", load(size))));
            Observation { what, command, limit }
        };
        vec![of("the locks under one queue", GLOBAL), of("the locks under one queue for each CPU", MQ)]
    }

    fn same(&self) -> &'static str {
        "VolanoMark's loopback chat with four threads for each connection; a scheduler in the kernel with one queue for all CPUs, and one \
         with a queue for each, which steals as the MQ patch does; the contention of the queues' locks in Lockmeter's form"
    }

    fn not_the_same(&self) -> &'static str {
        "the schedulers are BPF programs (sched_ext). A dispatch queue's lock is held for a sorted insertion, not for the scan of all \
         tasks that 2.4 made, and each CPU still has the kernel's own run queue below. Holds cannot be seen, so \"for a total of\" is the \
         spinning alone; the kernel of those runs does not know that it is in a virtual machine, so that its spin locks are those of a real \
         machine. There is no JVM. Each run has a virtual machine; where KVM does not work its instructions are translated, and \
         then not even ratios are those of a processor, and the full size takes longer than there is time. --quick has 1 room of 10 users \
         and 10 messages"
    }

    fn next(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "more CPUs:",
                "unspin prove --kernel cloud --vm-options '--cpus 4' --scheduler 'unspin-sched global','unspin-sched mq' volano",
            ),
            ("the run queues in user space:", "unspin reproduce volano"),
        ]
    }
}
