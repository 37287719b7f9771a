//! The `unspin-lab` program: the historical reports, and those of their workloads that need a database or an asynchronous runtime.
//! `unspin reproduce`, `unspin volano` and `unspin dbt1` execute it, so that `unspin` itself is built without those.
//!
//! The messages begin with `unspin:`, and the help names `unspin`: the user has typed that.
#![forbid(unsafe_code)]

mod dbt1;
mod options;
mod reproduce;
mod volano;

use options::{Command, CommandLine, LabCommand};
use std::process::ExitCode;
use unspin_launch::command::main_thread;

fn main() -> ExitCode {
    main_thread::perform(|| match CommandLine::read().command {
        Command::Lab(LabCommand::Volano(options)) => volano::run(&options),
        Command::Lab(LabCommand::Dbt1(options)) => dbt1::run(&options),
        Command::Lab(LabCommand::Reproduce(options)) => reproduce::run(&options),
        Command::PrepareShop(options) => dbt1::prepare(&options),
    })
}
