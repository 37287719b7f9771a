//! The program that a command line names together with `--runqueue`.

use crate::error::Error;
use crate::program::Program;
use crate::run_queue::{NEEDS_THE_CRATE, RunQueue};
use std::ffi::OsString;

/// Finds the program that a command line names, whose executors shall have this run queue, if one is given. It may be a
/// launcher, which the preload library does not reach itself.
pub fn find(command: &[OsString], run_queue: Option<RunQueue>) -> Result<Program, Error> {
    let Some(run_queue) = run_queue else { return Program::find_launcher(command) };
    let program = Program::find_launcher(&completed(command)?)?;
    Ok(Program { run_queue: Some(run_queue), ..program })
}

/// The command with the options that a run queue needs. The workload volano serves its connections by tasks then. Refuses workloads
/// that have no run queue of unspin, and a volano for which another option determines it.
fn completed(command: &[OsString]) -> Result<Vec<OsString>, Error> {
    let usage = |text: &str| Err(Error::Usage(text.into()));
    let name = command.first().and_then(|name| name.to_str());
    match name {
        Some("volano") => (),
        Some(name @ ("semopbench" | "hackbench")) => {
            return usage(&format!("{name} has no run queue of unspin: {NEEDS_THE_CRATE}"));
        }
        _ => return Ok(command.to_vec()),
    }
    if let Some(own) = value_of("--runqueue", command) {
        return usage(&format!(
            "--runqueue is given to unspin and to volano: leave out `--runqueue {own}` behind volano"
        ));
    }
    match value_of("--model", command).as_deref() {
        Some(model @ ("threads" | "tokio")) => {
            usage(&format!("volano --model {model} has no run queue of unspin: use --model tasks"))
        }
        // What is wrong with an unknown model, the workload says itself.
        Some(_) => Ok(command.to_vec()),
        None => Ok(command.iter().cloned().chain(["--model", "tasks"].map(OsString::from)).collect()),
    }
}

/// The value of an option in a command line: `--model tasks` or `--model=tasks`.
fn value_of(option: &str, command: &[OsString]) -> Option<String> {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let joined = |word: &OsString| text(word).strip_prefix(option)?.strip_prefix('=').map(str::to_owned);
    let behind = |at: usize| (command[at] == option).then(|| command.get(at + 1).map(text)).flatten();
    (0..command.len()).find_map(|at| behind(at).or_else(|| joined(&command[at])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> Result<String, String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let line = completed(&words).map_err(|error| error.to_string())?;
        Ok(line.join(" ".as_ref()).into_string().unwrap())
    }

    #[test]
    fn volano_uses_tasks() {
        assert_eq!(line(&["volano", "--rooms", "2"]).unwrap(), "volano --rooms 2 --model tasks");
        assert_eq!(line(&["volano", "--model=tasks"]).unwrap(), "volano --model=tasks");
        assert_eq!(line(&["./volano", "x"]).unwrap(), "./volano x", "another program of the name");
        assert_eq!(line(&["volano", "--model", "fibers"]).unwrap(), "volano --model fibers");
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
