//! How a measurement becomes a command.

use crate::inner::Task;
use crate::measurement::{Measurement, World};
use crate::tools::Tools;
use clap::ValueEnum;
use std::ffi::OsString;
use std::process::Command;

/// The command that measures it and prints one figure.
pub fn command(measurement: &Measurement, tools: &Tools) -> Result<Command, String> {
    match measurement {
        Measurement::Liburcu(time_ms) => {
            let mut command = Command::new(tools.liburcu.as_ref().map_err(String::clone)?);
            command.args(["time-ms", &time_ms.to_string()]);
            Ok(command)
        }
        Measurement::Inner(world, task) => Ok(inside(*world, tools, words(task)?)),
    }
}

/// The command line of a task.
pub fn words(task: &Task) -> Result<Vec<OsString>, String> {
    let this = std::env::current_exe().map_err(|e| format!("the place of this program: {e}"))?;
    let mut words = vec![this.into_os_string(), "inner".into()];
    words.extend(arguments(task).into_iter().map(OsString::from));
    Ok(words)
}

/// A command line in a world.
pub fn inside(world: World, tools: &Tools, words: Vec<OsString>) -> Command {
    let mut command = match world.engine() {
        None => Command::new(&words[0]),
        Some(engine) => {
            let mut command = Command::new(&tools.unspin);
            command.args(["run", "--sysv", engine, "--arena"]).arg(tools.arena(engine));
            command.arg("--").arg(&words[0]);
            command
        }
    };
    command.args(&words[1..]);
    for variable in ["LD_PRELOAD", "UNSPIN_SYSV", "UNSPIN_ARENA", "UNSPIN_RECORD"] {
        command.env_remove(variable);
    }
    command
}

/// The words that clap makes the task of again.
fn arguments(task: &Task) -> Vec<String> {
    let words = |words: &[&dyn ToString]| words.iter().map(|w| w.to_string()).collect();
    match task {
        Task::Call { call, effort } => {
            words(&[&"call", &value_name(*call), &effort.option(), &effort.amount()])
        }
        Task::Section { section, effort } => {
            words(&[&"section", &value_name(*section), &effort.option(), &effort.amount()])
        }
        Task::OwnSets { processes, time_ms } => {
            words(&[&"own-sets", &"--processes", processes, &"--time-ms", time_ms])
        }
        Task::Semopbench { groups, semaphores, repetitions } => {
            words(&[&"semopbench", &"-g", groups, &"-s", semaphores, &"-n", repetitions])
        }
    }
}

fn value_name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inner::{Call, EffortOptions, Section};
    use crate::options::{self, Options};
    use clap::Parser;

    #[test]
    fn clap_reads_what_is_written() {
        let effort = EffortOptions { time_ms: None, times: Some(9) };
        let tasks = [
            Task::Call { call: Call::Eagain, effort: EffortOptions { time_ms: Some(7), times: None } },
            Task::Section { section: Section::Epoch, effort },
            Task::OwnSets { processes: 2, time_ms: 5 },
            Task::Semopbench { groups: 1, semaphores: 2, repetitions: 3 },
        ];
        for task in tasks {
            let words = ["unspin-bench".to_owned(), "inner".to_owned()].into_iter().chain(arguments(&task));
            match Options::parse_from(words).command {
                Some(options::Command::Inner(read)) => assert_eq!(read, task),
                None => panic!("{task:?} is no command"),
            }
        }
    }
}
