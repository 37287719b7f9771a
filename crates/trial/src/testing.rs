//! Settings for tests.

use crate::booted::GuestKernel;
use crate::settings::ProveSettings;
use std::fmt::Debug;
use std::str::FromStr;
use unspin_launch::replace::run_queue::RunQueue;
use unspin_launch::scheduler::SchedulerCommand;
use unspin_launch::scheduler::command::split;

/// The settings that a few options of `unspin prove`, each with a value, mean. The first other word begins the command.
pub fn settings(words: &[&str]) -> ProveSettings {
    let mut settings = ProveSettings::of(Vec::new());
    let mut rest = words;
    while let [option, value, others @ ..] = rest {
        match *option {
            "--mutex" => settings.mutex = list(value),
            "--rwlock" => settings.rwlock = list(value),
            "--spin" => settings.spin = list(value),
            "--waits" => settings.waits = list(value),
            "--sysv" => settings.sysv = list(value),
            "--runs" => settings.runs = Some(value.parse().expect("it is a number")),
            "--runqueue" => settings.run_queues = value.split(',').map(run_queue).collect(),
            "--scheduler" => settings.schedulers = split(value).iter().map(|line| scheduler(line)).collect(),
            "--kernel" => settings.kernels = value.split(',').map(kernel).collect(),
            _ => break,
        }
        rest = others;
    }
    settings.command = rest.iter().map(Into::into).collect();
    settings
}

fn list<T: FromStr<Err: Debug>>(value: &str) -> Vec<T> {
    value.split(',').map(|word| word.parse().expect("it is a valid word")).collect()
}

fn scheduler(line: &str) -> SchedulerCommand {
    SchedulerCommand::parse(line).expect("it is a command")
}

fn kernel(name: &str) -> GuestKernel {
    GuestKernel { name: name.into(), options: Vec::new() }
}

fn run_queue(name: &str) -> RunQueue {
    RunQueue::ALL.into_iter().find(|run_queue| run_queue.name() == name).expect("it is a run queue")
}
