//! The commands that `unspin-lab` performs, with their options.
//!
//! `unspin-lab` parses its command line by them. `unspin` passes that command line on unread, and has them for shell completions and
//! man pages.
//!
//! ```
//! use clap::{Command, Subcommand};
//! use unspin_lab_options::LabCommand;
//!
//! let lab = LabCommand::augment_subcommands(Command::new("unspin-lab"));
//! let volano = lab.find_subcommand("volano").expect("it is one of the commands");
//! assert!(volano.get_arguments().any(|option| option.get_long() == Some("rooms")));
//! ```
#![forbid(unsafe_code)]

mod dbt1;
mod reproduce;
mod vm;
mod volano;

pub use dbt1::{Dbt1Mix, Dbt1Options};
pub use reproduce::{ReportChoice, ReproduceOptions};
pub use vm::{VmAccelerator, VmOptions};
pub use volano::{VolanoModel, VolanoOptions, VolanoRunQueue};

use clap::Subcommand;

/// One variant for each command.
#[derive(Subcommand, Debug)]
#[expect(
    missing_docs,
    reason = "a comment on a variant would be the command's help, in place of that of its options"
)]
pub enum LabCommand {
    Volano(VolanoOptions),
    Dbt1(Dbt1Options),
    Reproduce(ReproduceOptions),
    Vm(VmOptions),
}
