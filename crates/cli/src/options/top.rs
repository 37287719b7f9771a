//! The options of `unspin top`.

use super::{ObserveOptions, RecordOptions};
use clap::{ArgGroup, Args};
use std::path::PathBuf;
use std::time::Duration;
use unspin_launch::command::line::parse_duration;

const TOP_HELP: &str = "\
Exit code: that of the program; 128 + n if signal n killed it; or
    0  you left a running process, or all; or chose that the program goes on or that it is ended
    2  the command line is wrong, there is no terminal, or the output file cannot be written
  125  unspin itself failed
  126  the program cannot be executed, or cannot be preloaded
  127  the program does not exist
  130  a signal ended unspin, which ended the program

Examples:
  unspin top ./server
  unspin top --interval 500ms --output server.log ./server
  unspin top -p 4711                          # a running program in any language";

/// Run a program and show the locks on which it loses time, while it runs
///
/// Shows the table of `unspin meter` live. `?` explains the keys and columns. `q` leaves; you choose whether the program goes on
/// or ends. Tab shows further tables: waits, and what the kernel reports of the program by the lenses futex, kernel and off-cpu,
/// which are all that -p and -a have. The program has no terminal and an empty standard input, and its output goes to a file. On leaving, unspin prints
/// the last lines of that output and the table of the whole time.
#[derive(Args, Debug)]
#[command(after_help = TOP_HELP, group(ArgGroup::new("program").args(["all_processes", "pid", "command"]).required(true).multiple(true)),
          override_usage = "unspin top [OPTIONS] <COMMAND>...\n       unspin top [OPTIONS] <-a|-p <PID>>")]
pub struct TopOptions {
    /// Time between two updates, such as 500ms or 5s; + and - change it
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    pub interval: Duration,

    /// Write the program's output to this file [default: its last lines are printed on leaving]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Print no table on leaving
    #[arg(short, long)]
    pub quiet: bool,

    /// Show a row for each element of an array and for each object of one initialisation site, instead of one for all
    #[arg(long)]
    pub unfold: bool,

    #[command(flatten)]
    pub observe: ObserveOptions,

    #[command(flatten)]
    pub recorded: RecordOptions,
}
