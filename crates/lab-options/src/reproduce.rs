//! The options of `unspin reproduce`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

const REPRODUCE_HELP: &str = "\
Exit code:
    0  every requested report was measured, whatever the verdicts
    2  the command line is wrong
    4  at least one report could not be measured: this machine lacks something that it needs, or its program failed. The
       others have been measured
  125  unspin itself failed
  126  unspin-lab is of another version than unspin
  127  unspin-lab is not installed, or, typed itself, finds no unspin
  130  interrupted; what was measured until then has been reported

Examples:
  unspin reproduce --quick                        # all five, roughly, in under three minutes
  unspin reproduce hackbench --json rostedt.json  # one report in full size, with all runs in a file
  unspin reproduce hackbench --quick --kernel     # the real-time kernel and the plain one, in virtual machines
  unspin reproduce dbt1 --db postgres             # on the installed PostgreSQL server";

/// Repeat the measurements of the five historical reports on this machine
///
/// For each report: the published figures and what they prove, the same comparison here, with both sides in the rounds of one
/// `unspin prove` session, the locks before and after, and what is not the same as then. `all` ends with a table of the five.
/// A report that this machine cannot measure is named with the remedy, and the others go on.
#[derive(Args, Debug)]
#[command(after_help = REPRODUCE_HELP)]
pub struct ReproduceOptions {
    /// The report
    #[arg(value_name = "REPORT", default_value = "all")]
    pub report: ReportChoice,

    /// Few and short runs: all five reports in under three minutes on 2 CPUs. Small differences stay unproven
    #[arg(long)]
    pub quick: bool,

    /// The report's comparison on today's kernels: each run boots one of Debian's in a virtual machine. hackbench: the kernel with
    /// PREEMPT_RT against the plain one. volano: two schedulers of sched_ext. profile: readprofile beside `unspin profile`
    #[arg(long)]
    pub kernel: bool,

    /// The database of dbt1: `sqlite`; `postgres`, which starts a private server; or the URL of a running PostgreSQL server
    #[arg(long, value_name = "DATABASE", default_value = "sqlite")]
    pub db: String,

    /// Write all results, including each run, to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Print no progress on standard error
    #[arg(long, short)]
    pub quiet: bool,
}

/// One report, or all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ReportChoice {
    /// Hartner 2002: System V semaphores under one lock, and under RCU
    Semopbench,
    /// OSDL 2002: the same under a database
    Dbt1,
    /// Hartner 2002: the kernel profile of semopbench
    Profile,
    /// Hartner 2001: one run queue, and one for each CPU, under VolanoMark
    Volano,
    /// Rostedt 2008: lateral stealing and adaptive spinning in real-time locks
    Hackbench,
    /// The five, one after another
    All,
}
