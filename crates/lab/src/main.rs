//! The `unspin-lab` program: workloads of historical reports that need a database or an asynchronous runtime. `unspin volano` and
//! `unspin dbt1` execute it, so that `unspin` itself is built without those.
//!
//! Its messages begin with `unspin:`, and its help names `unspin`: the user has typed that.
#![forbid(unsafe_code)]

mod dbt1;
mod options;
mod volano;

use options::{Command, CommandLine};
use std::process::ExitCode;
use unspin_launch::stderr;
use unspin_sys::{fault, stack};

/// Bytes of the stack that every command may use: the parser of the command line alone uses hundreds of KiB.
const STACK_BYTES: usize = 4 << 20;

fn main() -> ExitCode {
    stack::with_at_least(STACK_BYTES, perform)
}

/// Performs the command of the command line.
fn perform() -> ExitCode {
    // Without it a recording that shrinks ends an executor of volano; all else works.
    let _ = fault::survive_shrinking();
    let outcome = match CommandLine::read().command {
        Command::Volano(options) => volano::run(&options),
        Command::Dbt1(options) => dbt1::run(&options),
        Command::PrepareShop(options) => dbt1::prepare(&options),
        Command::FindServer => dbt1::find_server(),
    };
    outcome.unwrap_or_else(|error| {
        stderr::say(format_args!("{error}"));
        error.exit_code()
    })
}
