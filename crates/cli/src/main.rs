//! The `unspin` program: finds the lock your CPUs spin on, replaces it, and proves the difference.
#![forbid(unsafe_code)]

mod arena;
mod arenas;
mod cache;
mod engine;
mod environment;
mod error;
mod hackbench;
mod ignored_signals;
mod library;
mod meter;
mod options;
mod outfile;
mod plan;
mod program;
mod prove;
mod reach;
mod run;
mod runtime;
mod scratch;
mod semopbench;
mod shell;
mod stderr;
mod stdout;
mod top;
mod wakeup;

use options::{Command, CommandLine};
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = match CommandLine::read().command {
        Command::Prove(options) => prove::run(&options),
        Command::Meter(options) => meter::run(&options),
        Command::Report(options) => meter::replay(&options),
        Command::Top(options) => top::run(&options),
        Command::Run(options) => run::run(&options),
        Command::Semopbench(options) => semopbench::run(&options),
        Command::Hackbench(options) => hackbench::run(&options),
        Command::Arenas(options) => arenas::run(&options.action),
    };
    outcome.unwrap_or_else(|error| {
        stderr::say(format_args!("{error}"));
        error.exit_code()
    })
}
