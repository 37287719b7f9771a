//! The program that a command line names together with `--runqueue`.

use crate::error::Error;
use crate::options::{Command, CommandLine, VolanoModel, VolanoOptions};
use crate::program::Program;
use crate::run_queue::{NEEDS_THE_CRATE, RunQueue};
use clap::Parser;
use std::ffi::OsString;

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
    let words = [OsString::from("unspin")].into_iter().chain(command.iter().cloned());
    let name = command.first().and_then(|name| name.to_str());
    match name {
        Some("volano") => (),
        Some(name @ ("semopbench" | "hackbench")) => {
            return usage(&format!("{name} has no run queue of unspin: {NEEDS_THE_CRATE}"));
        }
        _ => return Ok(command.to_vec()),
    }
    let mut whole = command.to_vec();
    // If the command line cannot be parsed, the workload reports the error.
    let Ok(CommandLine { command: Command::Volano(options) }) = CommandLine::try_parse_from(words) else {
        return Ok(whole);
    };
    match options {
        VolanoOptions { runqueue: Some(own), .. } => usage(&format!(
            "--runqueue is given to unspin and to volano: leave out `--runqueue {}` behind volano",
            own.name()
        )),
        VolanoOptions { model: Some(VolanoModel::Tasks), .. } => Ok(whole),
        VolanoOptions { model: Some(model), .. } => {
            usage(&format!("volano --model {} has no run queue of unspin: use --model tasks", model.name()))
        }
        VolanoOptions { model: None, .. } => {
            whole.extend(["--model", "tasks"].map(OsString::from));
            Ok(whole)
        }
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
