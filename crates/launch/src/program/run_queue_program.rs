//! The program that a command line names together with `--runqueue`.

use crate::error::Error;
use crate::program::Program;
use crate::program::workload::{HasRunQueue, Workload};
use crate::replace::run_queue::{NEEDS_THE_CRATE, RunQueue};
use std::ffi::OsString;

/// Options of the workload volano that have a value.
pub const VOLANO_VALUES: [&str; 10] =
    ["rooms", "users", "messages", "size", "runs", "model", "runqueue", "workers", "port", "timeout"];

/// Options of the workload volano that have no value.
pub const VOLANO_FLAGS: [&str; 1] = ["free-running"];

/// What can serve volano's connections.
pub const VOLANO_MODELS: [&str; 3] = ["threads", TASKS, "tokio"];

/// The model that has a run queue of unspin.
const TASKS: &str = "tasks";

/// Finds the program that a command line names. If a run queue is given, the program's executors shall use it. The
/// program may be a launcher, which the preload library does not reach itself.
pub fn find(command: &[OsString], run_queue: Option<RunQueue>) -> Result<Program, Error> {
    let Some(run_queue) = run_queue else { return Program::find_launcher(command) };
    let program = Program::find_launcher(&complete(command)?)?;
    Ok(Program { run_queue: Some(run_queue), ..program })
}

/// The command with the options that a run queue needs. The workload volano serves its connections by tasks then.
/// Refuses workloads without a run queue of unspin, and a volano whose own options determine the run queue.
fn complete(command: &[OsString]) -> Result<Vec<OsString>, Error> {
    let usage = |text: &str| Err(Error::Usage(text.into()));
    let name = command.first().and_then(|name| name.to_str());
    let Some(workload) = name.and_then(Workload::named) else { return Ok(command.to_vec()) };
    match workload.run_queue {
        HasRunQueue::Yes => (),
        HasRunQueue::No => {
            return usage(&format!("{} has no run queue of unspin: {NEEDS_THE_CRATE}", workload.name));
        }
        HasRunQueue::Unchecked => return Ok(command.to_vec()),
    }
    let mut whole = command.to_vec();
    // If the command line cannot be parsed, the workload reports the error.
    let Some(Volano { model, run_queue }) = Volano::parse(&command[1..]) else { return Ok(whole) };
    match (run_queue, model) {
        (Some(own), _) => usage(&format!(
            "--runqueue is given to unspin and to volano: leave out `--runqueue {own}` behind volano"
        )),
        (None, Some(TASKS)) => Ok(whole),
        (None, Some(model)) => {
            usage(&format!("volano --model {model} has no run queue of unspin: use --model {TASKS}"))
        }
        (None, None) => {
            whole.extend(["--model", TASKS].map(OsString::from));
            Ok(whole)
        }
    }
}

/// The arguments of volano that determine its run queue.
#[derive(Default)]
struct Volano<'a> {
    model: Option<&'a str>,
    run_queue: Option<&'a str>,
}

impl Volano<'_> {
    /// None for arguments that volano refuses, or that make it print its help.
    fn parse(arguments: &[OsString]) -> Option<Volano<'_>> {
        let mut volano = Volano::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let option = word.to_str()?.strip_prefix("--")?;
            if VOLANO_FLAGS.contains(&option) {
                continue;
            }
            let (option, value) = match option.split_once('=') {
                Some(parts) => parts,
                None => (option, words.next()?.to_str()?),
            };
            if !VOLANO_VALUES.contains(&option) {
                return None;
            }
            let (known, allowed): (_, &[&str]) = match option {
                "model" => (&mut volano.model, &VOLANO_MODELS),
                "runqueue" => (&mut volano.run_queue, &RunQueue::ALL.map(RunQueue::name)),
                _ => continue,
            };
            if !allowed.contains(&value) || known.replace(value).is_some() {
                return None;
            }
        }
        Some(volano)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> Result<String, String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let line = complete(&words).map_err(|error| error.to_string())?;
        Ok(line.join(" ".as_ref()).into_string().unwrap())
    }

    #[test]
    fn volano_uses_tasks() {
        assert_eq!(line(&["volano", "--rooms", "2"]).unwrap(), "volano --rooms 2 --model tasks");
        assert_eq!(line(&["volano", "--model=tasks"]).unwrap(), "volano --model=tasks");
        assert_eq!(line(&["./volano", "x"]).unwrap(), "./volano x", "another program of the name");
        assert_eq!(line(&["volano", "--no-such"]).unwrap(), "volano --no-such");
    }

    #[test]
    fn workloads_without_a_run_queue_are_refused() {
        let refused = |words: &[&str]| line(words).unwrap_err();
        assert!(refused(&["volano", "--model", "threads"]).ends_with("use --model tasks"));
        assert!(refused(&["volano", "--model", "tokio"]).contains("volano --model tokio has no run queue"));
        assert!(refused(&["volano", "--model", "tasks", "--runqueue", "global"]).contains("leave out"));
        assert!(refused(&["hackbench", "1"]).contains("volano --model tasks"));
    }
}
