//! The options of `unspin doctor`.

use clap::{Args, ValueEnum};
use serde::Serialize;

const DOCTOR_HELP: &str = "\
Exit code:
    0  every command that was asked about can work here, if with limits
    1  at least one cannot; the last line names it, and the line of the cause has the remedy
    2  the command line is wrong
  125  unspin itself failed

Examples:
  unspin doctor                       # everything
  unspin doctor --json prove lenses   # what these two need, for a script";

/// Say what works on this machine, what each obstacle costs, and its remedy
///
/// Tries what the commands of unspin need: the preload library, the kernel's events, shared memory; and looks at what measurements
/// depend on: CPUs, their quota and frequency, steal time, seccomp filters. It takes less than a second and changes nothing but the
/// cache folder.
#[derive(Args, Debug)]
#[command(after_help = DOCTOR_HELP)]
pub struct DoctorOptions {
    /// Print one JSON document, as docs/doctor.md describes it
    #[arg(long)]
    pub json: bool,

    /// Look only at what these commands need, and let them alone decide the exit code; `lenses` is `meter --lens`, `-p` and `-a`, and `lab` is
    /// volano, dbt1, reproduce and vm [default: all]
    #[arg(value_name = "USE")]
    pub uses: Vec<Use>,
}

/// Something that a user does with unspin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Use {
    Run,
    Meter,
    Top,
    Prove,
    Scale,
    Sysv,
    Lenses,
    Profile,
    Lab,
}

impl Use {
    /// The commands, for a sentence.
    pub fn commands(self) -> &'static str {
        match self {
            Use::Run => "`unspin run`",
            Use::Meter => "`unspin meter`",
            Use::Top => "`unspin top`",
            Use::Prove => "`unspin prove`",
            Use::Scale => "`unspin scale`",
            Use::Sysv => "`--sysv`",
            Use::Lenses => "`unspin meter --lens`, `-p` and `-a`",
            Use::Profile => "`unspin profile`",
            Use::Lab => "`unspin volano`, `dbt1`, `reproduce` and `vm`",
        }
    }
}
