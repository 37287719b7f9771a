//! The `unspin` program: finds the lock your CPUs spin on, replaces it, and proves the difference.
#![forbid(unsafe_code)]

mod arenas;
mod lab;
mod options;
mod reproduce;
mod run;
mod top;
mod workload;

use options::{Command, CommandLine};
use std::process::ExitCode;
use unspin_launch::stderr;
use unspin_observe::{meter, profile};
use unspin_sys::{fault, stack};
use unspin_trial::ProveSettings;

/// Bytes of the stack that every command may use: the parser of the command line alone uses hundreds of KiB.
const STACK_BYTES: usize = 4 << 20;

fn main() -> ExitCode {
    stack::with_at_least(STACK_BYTES, perform)
}

/// Performs the command of the command line.
fn perform() -> ExitCode {
    // Without this handler, a recording or a tally that shrinks ends unspin. Everything else works.
    let _ = fault::survive_shrinking();
    let outcome = match CommandLine::read().command {
        Command::Prove(options) => unspin_trial::prove(&ProveSettings {
            preparation: unspin_trial::web_shop(&options.command),
            ..ProveSettings::from(&options)
        }),
        Command::Scale(options) => unspin_trial::scale(&(&options).into()),
        Command::Meter(options) => meter::run(&(&options).into()),
        Command::Report(options) => meter::replay(&(&options).into()),
        Command::Top(options) => top::run(&options),
        Command::Profile(options) => profile::run(&(&options).into()),
        Command::Run(options) => run::run(&options),
        Command::Workload(workload) => workload::run(&workload),
        Command::Volano(options) => lab::run("volano", &options.arguments),
        Command::Dbt1(options) => lab::run("dbt1", &options.arguments),
        Command::Reproduce(options) => reproduce::run(&options),
        Command::Arenas(options) => arenas::run(&options.action),
    };
    outcome.unwrap_or_else(|error| {
        stderr::say(format_args!("{error}"));
        error.exit_code()
    })
}
