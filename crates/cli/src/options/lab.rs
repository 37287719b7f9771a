//! The arguments of the commands that the program `unspin-lab` performs.

use clap::Args;
use std::ffi::OsString;

/// Arguments that are passed on as they are, `--help` included.
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct LabOptions {
    /// All words behind the command
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}
