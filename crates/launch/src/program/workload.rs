//! unspin's own workloads: programs whose names stand for them on a command line.

use crate::replace::engine::Engine;
use std::ffi::OsStr;
use unspin_locks::LockKind;

/// A workload, and what the commands of unspin know about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Workload {
    /// The name of its command.
    pub name: &'static str,
    /// The program that performs it.
    pub program: WorkloadProgram,
    /// The figure that it prints.
    pub figure: WorkloadFigure,
    /// What `prove` compares in it, if the command line names nothing.
    pub candidates: DefaultCandidates,
    /// Whether its executors are those of unspin-runqueue.
    pub run_queue: HasRunQueue,
}

/// The program that performs a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkloadProgram {
    /// `unspin`.
    Unspin,
    /// `unspin-lab`, for workloads that need a database or an asynchronous runtime.
    Lab,
}

impl WorkloadProgram {
    /// The program's name, whatever its file is called.
    pub fn name(self) -> &'static str {
        match self {
            WorkloadProgram::Unspin => "unspin",
            WorkloadProgram::Lab => "unspin-lab",
        }
    }

    /// The folder of its crate.
    pub fn folder(self) -> &'static str {
        match self {
            WorkloadProgram::Unspin => "crates/cli",
            WorkloadProgram::Lab => "crates/lab",
        }
    }
}

/// The figure that a workload prints, in the words before its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkloadFigure {
    /// Seconds: lower is better.
    Time(&'static str),
    /// A rate: higher is better.
    Rate(&'static str),
}

/// What `prove` compares if the command line names nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefaultCandidates {
    /// Nothing is known before: `prove` searches.
    Search,
    /// Engines for System V IPC.
    Engines(&'static [Engine]),
    /// Kinds of mutex, if an argument ends with this word. Otherwise `prove` searches.
    MutexesWith(&'static str, &'static [LockKind]),
}

/// Whether a workload can run on a run queue of unspin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HasRunQueue {
    /// The workload's executors are those of unspin-runqueue.
    Yes,
    /// It has no executor.
    No,
    /// It gets none, and nothing is checked.
    Unchecked,
}

/// The figure of dbt1.
pub const BOGOTRANSACTIONS: &str = "bogotransactions per second";

/// The table of the workloads. The help lists them in this order.
pub const WORKLOADS: &[Workload] = &[
    Workload {
        name: "semopbench",
        program: WorkloadProgram::Unspin,
        figure: WorkloadFigure::Time("seconds per repetition"),
        candidates: DefaultCandidates::Engines(&Engine::IN_ARENAS),
        run_queue: HasRunQueue::No,
    },
    Workload {
        name: "hackbench",
        program: WorkloadProgram::Unspin,
        figure: WorkloadFigure::Time("Time"),
        // The kinds of Rostedt 2008, and the kind with which to compare them. Queues are guarded by mutexes.
        candidates: DefaultCandidates::MutexesWith(
            "queue",
            &[LockKind::Pi, LockKind::RtFair, LockKind::RtSteal, LockKind::RtAdaptive],
        ),
        run_queue: HasRunQueue::No,
    },
    Workload {
        name: "volano",
        program: WorkloadProgram::Lab,
        figure: WorkloadFigure::Rate("messages per second"),
        candidates: DefaultCandidates::Search,
        run_queue: HasRunQueue::Yes,
    },
    Workload {
        name: "dbt1",
        program: WorkloadProgram::Lab,
        figure: WorkloadFigure::Rate(BOGOTRANSACTIONS),
        candidates: DefaultCandidates::Search,
        run_queue: HasRunQueue::Unchecked,
    },
];

impl Workload {
    /// The workload with this name.
    pub fn named(name: impl AsRef<OsStr>) -> Option<&'static Workload> {
        WORKLOADS.iter().find(|workload| name.as_ref() == workload.name)
    }

    /// Whether this is the name of a workload that `unspin-lab` performs.
    pub fn is_of_lab(name: impl AsRef<OsStr>) -> bool {
        Workload::named(name).is_some_and(|workload| workload.program == WorkloadProgram::Lab)
    }
}

/// The help of the arguments that name a program, for commands that take all workloads.
pub fn command_help() -> String {
    help_of(WORKLOADS.iter())
}

/// The help of the arguments that name a program, for commands that take all workloads but one.
pub fn command_help_without(name: &str) -> String {
    help_of(WORKLOADS.iter().filter(|workload| workload.name != name))
}

fn help_of(workloads: impl Iterator<Item = &'static Workload>) -> String {
    let names: Vec<&str> = workloads.map(|workload| workload.name).collect();
    let names = names.join(", ");
    format!("The program and its arguments, after all options of unspin; or the name of a workload: {names}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_the_workloads_in_the_order_of_the_table() {
        assert!(command_help().ends_with(": semopbench, hackbench, volano, dbt1"));
        assert!(command_help_without("dbt1").ends_with(": semopbench, hackbench, volano"));
    }

    #[test]
    fn workload_is_found_by_its_name_only() {
        for workload in WORKLOADS {
            assert_eq!(Workload::named(workload.name), Some(workload));
        }
        assert_eq!(Workload::named("./volano"), None);
        assert!(Workload::is_of_lab("dbt1") && !Workload::is_of_lab("hackbench"));
    }
}
