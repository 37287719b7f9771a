//! A command line of `unspin prove` that another command chooses: it measures the settings, and prints the words.

use crate::booted::GuestKernel;
use crate::settings::ProveSettings;
use crate::web_shop;
use std::ffi::OsString;
use std::time::Duration;
use unspin_launch::plan::Choice;
use unspin_launch::replace::engine::Engine;
use unspin_launch::replace::run_queue::RunQueue;
use unspin_launch::scheduler::SchedulerCommand;
use unspin_locks::LockKind;
use unspin_stats::Direction;

/// Named candidates to be compared in a program that ends by itself.
///
/// [`settings`](ProveCommand::settings) and [`words`](ProveCommand::words) mean the same: a test in `cli/src/options/prove.rs` parses the words.
#[derive(Clone, Debug, PartialEq)]
pub struct ProveCommand {
    /// The time budget of the session, in seconds.
    pub time_budget_s: u64,
    /// What is judged.
    pub candidates: Candidates,
    /// A figure in the program's output, by a regular expression, and which of its values are better. None for the default of
    /// the program.
    pub metric: Option<(&'static str, Direction)>,
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// Candidates of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Candidates {
    /// Kinds of lock, each for all mutexes.
    Mutexes(&'static [LockKind]),
    /// System V engines.
    Engines(&'static [Engine]),
    /// Run queues. The first is the control.
    RunQueues(&'static [RunQueue]),
    /// Schedulers of the kernel, on one that is booted for each run.
    Schedulers {
        /// The kernel, by the name that `unspin vm` knows.
        kernel: &'static str,
        /// The commands that load the schedulers. The control is the kernel's own.
        commands: &'static [&'static str],
    },
    /// Kernels, by the names that `unspin vm` knows. The first is the control.
    Kernels(&'static [&'static str]),
}

impl ProveCommand {
    /// The time budget of the session.
    pub fn time_budget(&self) -> Duration {
        Duration::from_secs(self.time_budget_s)
    }

    /// The settings that the words mean.
    pub fn settings(&self) -> ProveSettings {
        let command: Vec<OsString> = self.command.iter().map(Into::into).collect();
        let mut settings = ProveSettings {
            preparation: web_shop::preparation(&command),
            time_budget: Some(self.time_budget()),
            ..ProveSettings::of(command)
        };
        match self.candidates {
            Candidates::Mutexes(kinds) => {
                settings.mutex = kinds.iter().map(|&kind| Choice { kind, lock: None }).collect();
            }
            Candidates::Engines(engines) => settings.sysv = engines.to_vec(),
            Candidates::RunQueues(run_queues) => settings.run_queues = run_queues.to_vec(),
            Candidates::Schedulers { kernel: name, commands } => {
                settings.kernels = vec![kernel(name)];
                let parse =
                    |line: &&str| SchedulerCommand::parse(line).expect("the caller's words are a command");
                settings.schedulers = commands.iter().map(parse).collect();
            }
            Candidates::Kernels(names) => settings.kernels = names.iter().map(|name| kernel(name)).collect(),
        }
        if let Some((metric, direction)) = self.metric {
            (settings.metric, settings.direction) = (Some(metric.to_owned()), Some(direction));
        }
        settings
    }

    /// The words that a user types for the settings.
    pub fn words(&self) -> Vec<String> {
        self.words_within(&format!("{}s", self.time_budget_s))
    }

    /// The words with another time budget.
    pub fn words_within(&self, time_budget: &str) -> Vec<String> {
        let (option, names) = match self.candidates {
            Candidates::Mutexes(kinds) => ("--mutex", join(kinds, LockKind::name)),
            Candidates::Engines(engines) => ("--sysv", join(engines, Engine::name)),
            Candidates::RunQueues(run_queues) => ("--runqueue", join(run_queues, RunQueue::name)),
            Candidates::Schedulers { commands, .. } => ("--scheduler", commands.join(",")),
            Candidates::Kernels(names) => ("--kernel", names.join(",")),
        };
        let mut words = vec!["unspin", "prove", "--time-budget", time_budget, option, &names];
        if let Candidates::Schedulers { kernel, .. } = self.candidates {
            words.extend(["--kernel", kernel]);
        }
        if let Some((metric, direction)) = self.metric {
            let better = match direction {
                Direction::HigherIsBetter => "--higher-is-better",
                Direction::LowerIsBetter => "--lower-is-better",
            };
            words.extend([better, "--metric", metric]);
        }
        words.extend(self.command.iter().map(String::as_str));
        words.into_iter().map(str::to_owned).collect()
    }
}

fn kernel(name: &str) -> GuestKernel {
    GuestKernel { name: name.to_owned(), options: Vec::new() }
}

/// The names, separated by commas.
fn join<T: Copy>(named: &[T], name: fn(T) -> &'static str) -> String {
    named.iter().map(|&one| name(one)).collect::<Vec<_>>().join(",")
}
