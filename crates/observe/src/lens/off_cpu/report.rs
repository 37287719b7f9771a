//! Where the threads' time went, as data.

use super::lens::{OffCpuLens, Sum};
use super::reason;
use super::states::Blocked;
use crate::lens::callers::{Callers, from_caller};
use crate::lens::conditions::Conditions;
use crate::lens::naming::Naming;
use crate::lens::pthread_reach::is_beyond_pthread;
use serde::Serialize;
use std::collections::BTreeMap;
use unspin_report::next::lens::off_cpu::{self, BlockReason};
use unspin_report::next::{Next, Subject, is_worth_share};
use unspin_trace::Stacks;

/// The time of all threads, by what they did. Times are in seconds, summed over the threads.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct OffCpuReport {
    /// The processes with these threads: `system`, `command`, or `process`.
    pub target: &'static str,
    /// Seconds observed.
    pub seconds: f64,
    /// Records that the kernel could not pass on, because a ring buffer was full.
    pub lost_records: u64,
    /// Records that could not be parsed.
    pub unreadable_records: u64,
    /// Threads that were seen.
    pub threads: u64,
    /// The time of all threads: the sum of the three that follow.
    pub thread_seconds: f64,
    /// Time on a CPU.
    pub on_cpu: f64,
    /// Time in which a thread could run and had no CPU.
    pub runnable: f64,
    /// Time in which a thread waited: the sum of `reasons`.
    pub blocked: f64,
    /// Time of locks: the reasons `futex` and `kernel-lock` without `idle`.
    pub locks: f64,
    /// Time at futexes at which the threads waited already when the observation began: mostly threads that have nothing
    /// to do.
    pub idle: f64,
    /// By reason, most time first.
    pub reasons: Vec<BlockedReason>,
    /// What to do next about the time on CPUs, if that is most of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_cpu_next: Option<Next>,
    /// What to do next about the time runnable, if that is worth it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runnable_next: Option<Next>,
}

/// The time blocked for one reason.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BlockedReason {
    /// The reason.
    pub reason: BlockReason,
    /// The reason's sums.
    #[serde(flatten)]
    pub row: BlockedRow,
    /// By caller, most time first.
    pub callers: Vec<BlockedCaller>,
    /// What to do next; none if it is too small a share of the threads' time.
    #[serde(flatten)]
    pub next: Option<Next>,
}

/// Sums of the times that threads were blocked.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct BlockedRow {
    /// How often.
    pub count: u64,
    /// Time blocked.
    pub blocked: f64,
    /// The longest time.
    pub max: f64,
}

/// The time blocked by one caller, in one system call.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BlockedCaller {
    /// Function and offset of the program.
    pub name: String,
    /// The system call; none if the thread was in none, or if it is not known.
    pub system_call: Option<String>,
    /// The caller's sums.
    #[serde(flatten)]
    pub row: BlockedRow,
    /// Function and offset of each frame of the program, innermost first, where most time was spent.
    pub frames: Vec<String>,
}

/// Callers of one reason.
type Folded = BTreeMap<(String, Option<String>), (Sum, Vec<String>, u64)>;

impl OffCpuReport {
    /// The name of the time on CPUs in tables.
    pub const ON_CPU: &str = "on a CPU";
    /// The name of the time runnable.
    pub const RUNNABLE: &str = "runnable, without a CPU";

    /// Of what the lens has seen, with names.
    pub fn new(lens: &OffCpuLens, stacks: &Stacks, naming: &Naming, conditions: &Conditions) -> OffCpuReport {
        let (symbols, names) = (&naming.kernel, Callers::new(&lens.spaces, &naming.programs));
        let mut reasons = BTreeMap::<BlockReason, Folded>::new();
        for (&(space, blocked), sum) in &lens.blocked {
            let (reason, call) = reason::of(blocked, stacks, symbols);
            let user = match blocked {
                Blocked::At(stack, _) => stacks.get(stack).user,
                Blocked::Before(..) => &[],
            };
            let frames = names.frames(space, user);
            let name = match from_caller(&frames) {
                [] if matches!(blocked, Blocked::Before(..)) => "(blocked before the observation)".into(),
                [] => "(no stack)".into(),
                [caller] => caller.place.clone(),
                [caller, outer, ..] => format!("{}  from {}", caller.place, outer.place),
            };
            let callers = reasons.entry(reason).or_default();
            let (all, longest, longest_ns) = callers.entry((name, call)).or_default();
            all.merge(sum);
            if sum.ns >= *longest_ns {
                *longest_ns = sum.ns;
                *longest = frames.into_iter().map(|frame| frame.place).collect();
            }
        }
        let mut reasons: Vec<BlockedReason> = reasons.into_iter().map(blocked_reason).collect();
        reasons.sort_by(|a, b| b.row.blocked.total_cmp(&a.row.blocked));
        let blocked = reasons.iter().map(|reason| reason.row.blocked).sum();
        let (on_cpu, runnable) = (seconds(lens.on_cpu_ns), seconds(lens.runnable_ns));
        let mut report = OffCpuReport {
            target: conditions.target(),
            seconds: conditions.seconds,
            lost_records: conditions.losses.records,
            unreadable_records: conditions.losses.unreadable,
            threads: lens.seen,
            thread_seconds: on_cpu + runnable + blocked,
            on_cpu,
            runnable,
            blocked,
            locks: 0.0,
            idle: lens.idle_at_futexes(),
            reasons,
            on_cpu_next: None,
            runnable_next: None,
        };
        report.advise(&conditions.subject);
        let locks = report.blocked_for(BlockReason::Futex) + report.blocked_for(BlockReason::KernelLock);
        report.locks = (locks - report.idle).max(0.0);
        report
    }

    /// Says what to do next about the parts that are worth it.
    fn advise(&mut self, subject: &Subject) {
        let all = self.thread_seconds;
        for reason in &mut self.reasons {
            reason.next = is_worth_share(reason.row.blocked, all).then(|| {
                let is_beyond = reason.reason.is_descriptor() && is_beyond_pthread(subject);
                off_cpu::about(reason.reason, is_beyond, subject)
            });
        }
        self.runnable_next = is_worth_share(self.runnable, all).then(|| off_cpu::about_runnable(subject));
        self.on_cpu_next = (2.0 * self.on_cpu > all).then(|| off_cpu::about_on_cpu(subject));
    }

    /// Seconds blocked for a reason.
    pub fn blocked_for(&self, reason: BlockReason) -> f64 {
        let found = self.reasons.iter().find(|one| one.reason == reason);
        found.map_or(0.0, |one| one.row.blocked)
    }

    /// Keeps the callers that fit and were blocked for at least so many seconds.
    pub fn keep(&mut self, min_blocked: f64, caller_fits: &dyn Fn(&str) -> bool) {
        for reason in &mut self.reasons {
            reason.callers.retain(|caller| caller.row.blocked >= min_blocked && caller_fits(&caller.name));
        }
    }
}

impl OffCpuLens {
    /// Seconds at futexes of threads that blocked there before the observation.
    fn idle_at_futexes(&self) -> f64 {
        let idle = self.blocked.iter().filter(|((_, blocked), _)| blocked.is_futex_before());
        seconds(idle.map(|(_, sum)| sum.ns).sum())
    }
}

impl Sum {
    pub(super) fn merge(&mut self, other: &Sum) {
        self.count += other.count;
        self.ns += other.ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    fn row(&self) -> BlockedRow {
        BlockedRow { count: self.count, blocked: seconds(self.ns), max: seconds(self.max_ns) }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

fn blocked_reason((reason, folded): (BlockReason, Folded)) -> BlockedReason {
    let mut all = Sum::default();
    folded.values().for_each(|(sum, ..)| all.merge(sum));
    let callers = folded.into_iter().map(|((name, system_call), (sum, frames, _))| BlockedCaller {
        name,
        system_call,
        row: sum.row(),
        frames,
    });
    let mut callers: Vec<BlockedCaller> = callers.collect();
    callers.sort_by(|a, b| b.row.blocked.total_cmp(&a.row.blocked));
    BlockedReason { reason, row: all.row(), callers, next: None }
}

#[cfg(test)]
mod tests {
    use super::super::testing::example;
    use super::*;

    #[test]
    fn parts_add_up_to_the_time_of_the_threads() {
        let report = example();
        let sum = report.on_cpu + report.runnable + report.blocked;
        assert!((sum - report.thread_seconds).abs() < 1e-12);
        let callers: f64 =
            report.reasons.iter().flat_map(|one| &one.callers).map(|caller| caller.row.blocked).sum();
        assert!((callers - 0.003).abs() < 1e-12, "{report:?}");
        assert!((report.locks - 0.002).abs() < 1e-12, "{report:?}");
        assert_eq!(report.reasons[0].callers[0].system_call.as_deref(), Some("futex"));
        assert!((report.blocked_for(BlockReason::Pipe) - 0.001).abs() < 1e-12);
    }
}
