//! The `unspin-lab` program: the historical reports, those of their workloads that need a database or an asynchronous runtime, and
//! virtual machines.
//! `unspin reproduce`, `unspin volano`, `unspin dbt1` and `unspin vm` execute it, so that `unspin` itself is built without those.
//!
//! The messages begin with `unspin:`, and the help names `unspin`: the user has typed that.
#![forbid(unsafe_code)]

mod dbt1;
mod options;
mod reproduce;
mod vm;
mod volano;

use options::{Command, CommandLine, LabCommand};
use std::process::ExitCode;
use unspin_launch::command::main_thread;

fn main() -> ExitCode {
    main_thread::perform(|| match CommandLine::read().command {
        Command::Lab(LabCommand::Volano(options)) => volano::run(&options),
        Command::Lab(LabCommand::Dbt1(options)) => dbt1::run(&options),
        Command::Lab(LabCommand::Reproduce(options)) => reproduce::run(&options),
        Command::Lab(LabCommand::Vm(options)) => vm::run(&options),
        Command::PrepareShop(options) => dbt1::prepare(&options),
        Command::VmInit => unspin_vm::guest::perform(),
    })
}
