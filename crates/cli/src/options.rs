//! The command line.

mod arenas;
mod hackbench;
mod list;
mod meter;
mod prove;
mod replace;
mod top;

pub use arenas::{ArenasAction, ArenasList, ArenasOptions, ArenasRemove, ArenasShow};
pub use hackbench::{HackbenchOptions, Transport};
use meter::percent;
pub use meter::{Format, MeterOptions, RecordOptions, ReportOptions, ViewOptions};
pub use prove::ProveOptions;
pub use replace::Replace;
pub use top::TopOptions;

use crate::engine::{self, Engine};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgGroup, Args, CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

/// Version of the package, and the commit that the binary was built from.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("UNSPIN_COMMIT"), ")");

/// Finds the lock your CPUs spin on, replaces it, and proves the difference.
///
/// On any dynamically linked Linux program, with no source change and no recompile.
#[derive(Parser, Debug)]
#[command(name = "unspin", version = VERSION, max_term_width = 100)]
pub struct CommandLine {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// One variant for each command.
#[derive(Subcommand, Debug)]
pub enum Command {
    Prove(ProveOptions),
    Meter(MeterOptions),
    Report(ReportOptions),
    Top(TopOptions),
    Run(RunOptions),
    Arenas(ArenasOptions),
    Semopbench(SemopbenchOptions),
    Hackbench(HackbenchOptions),
}

impl CommandLine {
    /// Reads the command line. Prints help or an error and ends the process if there is nothing to run.
    pub fn read() -> CommandLine {
        CommandLine::try_parse().unwrap_or_else(|mut error| {
            // A closed output is not an error here: no other output could report it.
            match misplaced(&error, std::env::args().nth(1).as_deref()) {
                Some(line) => _ = writeln!(io::stderr(), "unspin: {line}"),
                None if error.use_stderr() => {
                    // Clap's tip, "to pass it as a value, use `--`", is wrong here: `--` is followed by the program.
                    if error.kind() == ErrorKind::UnknownArgument {
                        error.remove(ContextKind::Suggested);
                    }
                    let text = error.render().to_string();
                    _ = io::stderr().write_all(text.replacen("error: ", "unspin: ", 1).as_bytes());
                }
                None => _ = error.print(),
            }
            std::process::exit(error.exit_code())
        })
    }
}

/// The message for an option that the command does not have, but once had or other commands have.
fn misplaced(error: &clap::Error, command: Option<&str>) -> Option<String> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    if option == "--spin-waits" {
        return Some("--spin-waits is no longer known: write --waits poll".into());
    }
    let name = option.strip_prefix("--")?;
    let all = CommandLine::command();
    let has = |command: &&clap::Command| command.get_arguments().any(|arg| arg.get_long() == Some(name));
    let with: Vec<String> =
        all.get_subcommands().filter(has).map(|command| format!("`unspin {}`", command.get_name())).collect();
    let command = all.find_subcommand(command?)?.get_name();
    (!with.is_empty())
        .then(|| format!("`unspin {command}` has no {option}: it is an option of {}", with.join(", ")))
}

/// A time with a unit; a bare number is seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    let parsed = seconds.or_else(|| humantime::parse_duration(text).ok());
    parsed.filter(|d| !d.is_zero()).ok_or_else(|| "give a time such as 500ms, 90s or 5m".into())
}

const RUN_EXIT_CODES: &str = "\
Exit code: the program's own, or
    2  the command line is wrong, or the plan that it names, or a lock or call site of that name is not to be found
  125  unspin itself failed
  126  the program cannot be executed, the preload library cannot reach it, or it has nothing that could be replaced
  127  there is no such program

Examples:
  unspin run --waits poll ./server                  every wait polls before it sleeps, where that pays
  unspin run --mutex adaptive@cache_lock ./server   one lock is replaced";

/// Run a program with other locks and waits in place of its own
///
/// Its pthread mutexes by --mutex and its waits by --waits, all of them or one by one, as `unspin meter` names them; its
/// System V IPC (semaphores, message queues, shared memory) by --sysv. Nothing is measured, and what it prints and returns is its own.
#[derive(Args, Debug)]
#[command(after_help = RUN_EXIT_CODES,
          group(ArgGroup::new("what").args(["sysv", "mutex", "waits", "use_plan"]).required(true).multiple(true)))]
pub struct RunOptions {
    #[command(flatten)]
    pub replace: Replace,

    /// Serve its System V IPC by this engine: `kernel` passes every call through, `global` has one lock for all objects,
    /// `rcu` one for each
    #[arg(long, value_name = "ENGINE", value_parser = engine::parser())]
    pub sysv: Option<Engine>,

    /// The file that holds the objects, shared by all programs that name it [default: one per user, IPC namespace and
    /// engine, in /dev/shm]
    #[arg(long, value_name = "FILE", requires = "sysv")]
    pub arena: Option<PathBuf>,

    /// The program and its arguments, behind all options of unspin's own; or the name of a workload: semopbench, hackbench
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

const SEMOPBENCH_EXIT_CODES: &str = "\
Exit code:
    0  the token went round every ring as often as asked
    1  a process ended early, a token was lost, or the system refused something
    2  the command line is wrong, or asks for more than the kernel allows";

/// Pass tokens round rings of processes, each asleep on its own System V semaphore
///
/// One process is forked for each semaphore and sleeps on it. The master posts the first of each group. Who
/// wakes up resets its own semaphore, posts the next of its group, and waits on its own. It is an ordinary
/// program that calls semop(2): an engine serves it only under `unspin run` or `unspin prove`.
#[derive(Args, Debug)]
#[command(after_help = SEMOPBENCH_EXIT_CODES)]
pub struct SemopbenchOptions {
    /// Groups: semaphore sets, each with a token of its own
    #[arg(short, value_name = "GROUPS", default_value_t = 8)]
    pub groups: usize,

    /// Semaphores in each group, one process for each; with 1 a process posts to itself and never sleeps
    #[arg(short, value_name = "SEMAPHORES", default_value_t = 16)]
    pub semaphores: usize,

    /// Repetitions: how many times the token goes round each group
    #[arg(short = 'n', value_name = "REPETITIONS", default_value_t = 500)]
    pub repetitions: u32,

    /// Reset the kernel's profile counters before the test starts, as `readprofile -r` does
    #[arg(short)]
    pub reset: bool,

    /// Say on standard error what happens
    #[arg(short)]
    pub debug: bool,

    /// Report the time of each process
    #[arg(short)]
    pub verbose: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn times_have_units() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for bad in ["", "0", "-1", "soon", "1e300"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_programs_options_are_its_own() {
        let parsed = CommandLine::parse_from(["unspin", "run", "--sysv", "rcu", "ls", "-l", "--sysv", "x"]);
        let Command::Run(run) = parsed.command else { panic!("{parsed:?}") };
        assert_eq!((run.sysv, run.command.len()), (Some(Engine::Rcu), 4));
        let parsed = CommandLine::parse_from(["unspin", "run", "--sysv", "kernel", "--", "-odd-name"]);
        let Command::Run(run) = parsed.command else { panic!("{parsed:?}") };
        assert_eq!(run.command, ["-odd-name"]);
    }
}
