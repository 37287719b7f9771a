//! The options of `unspin top`.

use super::{RecordOptions, duration};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

const TOP_EXIT_CODES: &str = "\
Exit code: the program's own; 128 + n if signal n killed it; or
    0  it goes on, or was ended, because you said so on leaving
    2  the command line is wrong, there is no terminal, or the output's file cannot be written
  125  unspin itself failed
  126  the program cannot be executed, or the preload library cannot reach it
  127  there is no such program
  130  a signal ended unspin, which ended the program";

/// Run a program and show which locks it loses time on, while it runs
///
/// The table of `unspin meter`, live: `?` tells the keys and the columns, `q` leaves, and the program goes on or
/// ends as you choose. Its standard input is empty, its output goes to a file, it has no terminal, and what comes
/// from the keyboard is for unspin. On leaving, the last lines that it printed and the table of the whole time are
/// printed.
#[derive(Args, Debug)]
#[command(after_help = TOP_EXIT_CODES)]
pub struct TopOptions {
    /// Time between two looks, such as 500ms or 5s; + and - change it
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub interval: Duration,

    /// Keep what the program prints in this file [default: the last lines are shown on leaving]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Print no table on leaving
    #[arg(short, long)]
    pub quiet: bool,

    /// Each element of an array, and each object that was initialised at one place, in a row of its own
    #[arg(long)]
    pub unfold: bool,

    #[command(flatten)]
    pub recorded: RecordOptions,
}
