//! The options of `unspin profile`.

use super::ObserveOptions;
use clap::{ArgGroup, Args};
use std::ffi::OsString;
use std::path::PathBuf;
use unspin_observe::settings::ProfileSettings;

const PROFILE_HELP: &str = "\
Exit code: that of the program; 128 + n if signal n killed it; 0 with -p, or with -a and no program; or
    2  the command line is wrong, there is no such process, or a requested file cannot be written
  125  unspin itself failed, or the kernel does not permit it: the message names the setting
  126  the program cannot be executed
  127  the program does not exist

Examples:
  unspin profile semopbench -g 64 -s 16 -n 500 -r   # as in the report of 2002, with `readprofile | sort -n +0 -r`
  unspin profile -a --seconds 10                    # all CPUs, for ten seconds
  unspin profile --user --flamegraph server.svg ./server";

/// Sample the kernel's program counter, and print the functions as readprofile(8) does
///
/// Each line has the ticks of a function, its name, and its normalised load: ticks divided by the length of the function in
/// bytes. The most ticks come first, as `sort -n +0 -r` sorts them; the first line is the total. The table goes to standard
/// error, after the program has ended. Without -a only the program and its children are sampled; the kernel's own threads,
/// and idle CPUs, need -a.
#[derive(Args, Debug)]
#[command(after_help = PROFILE_HELP, override_usage = "unspin profile [OPTIONS] <-a|-p <PID>|COMMAND...>",
          group(ArgGroup::new("which").args(["all_processes", "pid", "command"]).required(true).multiple(true)))]
pub struct ProfileOptions {
    #[command(flatten)]
    pub observe: ObserveOptions,

    /// Samples in a second on each CPU
    #[arg(short = 'F', long, value_name = "HZ", default_value_t = 997,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub frequency: u64,

    /// Sample programs too, not only the kernel; their functions have no length, so no load
    #[arg(long)]
    pub user: bool,

    /// Print the ticks of each address in a function, as `readprofile -s` does
    #[arg(short = 's', long)]
    pub counters: bool,

    /// Print the address of each function too, as `readprofile -v` does
    #[arg(short, long)]
    pub verbose: bool,

    /// Print also the share of the ticks in which CPUs did not spin for a lock, and the functions in which they spun; with --user
    /// also for the locks of programs
    #[arg(long)]
    pub spin: bool,

    /// Begin with all ticks at zero, as `readprofile -r` does; that is always so here. (`-r` of semopbench, after its name,
    /// sets the ticks to zero when its test starts)
    #[arg(short, long)]
    pub reset: bool,

    /// Accepted as readprofile's `-n`, with no effect: there is no file whose byte order must be known
    #[arg(short, long = "no-auto")]
    pub no_auto: bool,

    /// Write the table to this file instead of standard error
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write the samples with their stacks to this file, as a profile for `go tool pprof`
    #[arg(long, value_name = "FILE")]
    pub pprof: Option<PathBuf>,

    /// Write a flame graph of the samples to this file, as SVG
    #[arg(long, value_name = "FILE")]
    pub flamegraph: Option<PathBuf>,

    #[arg(help = unspin_launch::program::workload::command_help_without("dbt1"), trailing_var_arg = true, value_name = "COMMAND", conflicts_with_all = ["pid", "seconds"])]
    pub command: Vec<OsString>,
}

impl From<&ProfileOptions> for ProfileSettings {
    fn from(options: &ProfileOptions) -> ProfileSettings {
        // readprofile's --reset and --no-auto have no effect.
        let ProfileOptions {
            observe, frequency, user, counters, verbose, spin, reset: _, no_auto: _, ..
        } = options;
        let ProfileOptions { output, pprof, flamegraph, command, .. } = options;
        ProfileSettings {
            observe: observe.into(),
            frequency: *frequency,
            user: *user,
            counters: *counters,
            verbose: *verbose,
            spin: *spin,
            output: output.clone(),
            pprof: pprof.clone(),
            flamegraph: flamegraph.clone(),
            command: command.clone(),
        }
    }
}
