//! The options of `unspin plan`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  unspin plan check server.toml                          # does it fit the installed build?
  unspin plan compile server.toml --output /opt/unspin   # the library and the plan, for LD_PRELOAD
  unspin plan systemd server.toml                        # what goes into the unit";

/// Deploy a plan: run a service under it without `unspin` in front
///
/// A service then needs two files, the preload library and the compiled plan, and two variables, LD_PRELOAD and UNSPIN_PLAN.
/// PLAN is a plan file as `unspin prove --plan` writes it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct PlanOptions {
    /// What to do
    #[command(subcommand)]
    pub action: PlanAction,
}

/// One variant for each action.
#[derive(Subcommand, Debug)]
pub enum PlanAction {
    Show(PlanShow),
    Check(PlanCheck),
    Compile(PlanCompile),
    Env(PlanEnv),
    Systemd(PlanSystemd),
    Dockerfile(PlanDockerfile),
    Kubernetes(PlanKubernetes),
    Looks(PlanLooks),
    Status(PlanStatus),
}

/// A plan file, and the programs that it is for.
#[derive(Args, Debug)]
pub struct PlanSource {
    /// The program in which the plan is to be in effect, instead of the one that the plan names. Of a plan for a script: the program
    /// that the script starts. Can be given several times
    #[arg(long, value_name = "FILE")]
    pub program: Vec<PathBuf>,

    /// The plan file
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
}

/// Where the two files of a deployed plan lie when the service runs.
#[derive(Args, Debug)]
pub struct PlanPlace {
    /// The folder in which the library and the plan lie where the service runs
    #[arg(long, value_name = "FOLDER", default_value = "/opt/unspin")]
    pub dir: PathBuf,

    /// The plan file
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
}

const SHOW_HELP: &str = "\
Exit code: as of `unspin plan check`

Examples:
  unspin plan show server.toml
  unspin plan show --program /usr/bin/server server.toml";

/// Show what a plan replaces in the installed build of its program
///
/// Prints for each lock and each call site the kind or policy, the name, and the places by which the library recognises it.
#[derive(Args, Debug)]
#[command(after_help = SHOW_HELP)]
pub struct PlanShow {
    #[command(flatten)]
    pub source: PlanSource,
}

const CHECK_HELP: &str = "\
Exit code:
    0  the plan fits
    1  it does not fit the installed builds, names an unknown lock or kind, or is for a library of another version
    2  the command line is wrong, or the file is no plan
  125  unspin itself failed
  126  the library cannot be loaded into the program: it is static, of another C library, set-uid, or of 32 bits

Examples:
  unspin plan check server.toml
  unspin plan check /opt/unspin/server.plan   # a compiled plan, where it is installed";

/// Check whether a plan still fits the installed build of its program
///
/// Compares the builds of the files for which the plan was made, and looks up all names. PLAN may be a compiled plan, too.
#[derive(Args, Debug)]
#[command(after_help = CHECK_HELP)]
pub struct PlanCheck {
    #[command(flatten)]
    pub source: PlanSource,
}

const COMPILE_HELP: &str = "\
Exit code: as of `unspin plan check`, or
    2  a file cannot be written there

Examples:
  unspin plan compile server.toml --output /opt/unspin
  unspin plan compile --program /usr/bin/server start.toml --output ./unspin";

/// Write the preload library and the compiled plan into a folder
///
/// Writes libunspin_preload.so, and NAME.plan for the plan file NAME.toml. The compiled plan is for the present builds of the program
/// and of the libraries whose locks it replaces. In another build the program runs as by itself, and says so in one line.
#[derive(Args, Debug)]
#[command(after_help = COMPILE_HELP)]
pub struct PlanCompile {
    /// The folder. It is made if it does not exist
    #[arg(long, short, value_name = "FOLDER", required = true)]
    pub output: PathBuf,

    #[command(flatten)]
    pub source: PlanSource,
}

const ENV_HELP: &str = "\
Exit code:
    0  the lines have been printed
    2  the command line is wrong, or the file is no plan

Examples:
  unspin plan env server.toml                    # eval \"$(unspin plan env server.toml)\" sets them
  unspin plan env --dir /srv/unspin server.toml";

/// Print the two variables for a shell
#[derive(Args, Debug)]
#[command(after_help = ENV_HELP)]
pub struct PlanEnv {
    #[command(flatten)]
    pub place: PlanPlace,
}

const SYSTEMD_HELP: &str = "\
Exit code:
    0  the drop-in has been printed
    2  the command line is wrong, or the file is no plan

Examples:
  unspin plan systemd server.toml
  unspin plan systemd --dir /srv/unspin server.toml
  unspin plan systemd --locked-down --status server.toml   # for Debian's redis";

/// Print a drop-in for the unit of a service
#[derive(Args, Debug)]
#[command(after_help = SYSTEMD_HELP)]
pub struct PlanSystemd {
    /// The unit has NoExecPaths=, SystemCallFilter= or other seccomp filters: give it what the library needs under them. Copy the program
    /// unspin into the folder, too
    #[arg(long)]
    pub locked_down: bool,

    /// Let the service keep a tally for `unspin plan status`, and write a line to its log when it ends
    #[arg(long)]
    pub status: bool,

    #[command(flatten)]
    pub place: PlanPlace,
}

const DOCKERFILE_HELP: &str = "\
Exit code:
    0  the lines have been printed
    2  the command line is wrong, or the file is no plan

Examples:
  unspin plan dockerfile server.toml
  unspin plan dockerfile --dir /srv/unspin server.toml";

/// Print the lines for the Dockerfile of an image
#[derive(Args, Debug)]
#[command(after_help = DOCKERFILE_HELP)]
pub struct PlanDockerfile {
    #[command(flatten)]
    pub place: PlanPlace,
}

const KUBERNETES_HELP: &str = "\
Exit code:
    0  the Pod has been printed
    2  the command line is wrong, or the file is no plan

Examples:
  unspin plan kubernetes server.toml
  unspin plan kubernetes --image registry.example/server:7 server.toml";

/// Print a Pod whose init container copies the library and the plan into an emptyDir
#[derive(Args, Debug)]
#[command(after_help = KUBERNETES_HELP)]
pub struct PlanKubernetes {
    /// The image of the service
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,

    /// The image of the init container: it has the two files in /unspin, and cp
    #[arg(long, value_name = "IMAGE")]
    pub files_image: Option<String>,

    #[command(flatten)]
    pub place: PlanPlace,
}

const LOOKS_HELP: &str = "\
Exit code:
    0  the variable has been printed or written
    2  the command line is wrong, or the file cannot be written
  125  it cannot be found out what the filters permit; standard error says why

Examples:
  unspin plan looks                              # in the container of the service
  unspin plan looks --output /run/server/looks   # in a unit: EnvironmentFile= reads it";

/// Print the variable that lets waits poll under a seccomp filter
///
/// A deployed plan lets no wait poll under a seccomp filter, unless the variable UNSPIN_LOOKS states which system calls the filters
/// permit. This makes these calls once, in child processes. Run it in the container or the unit of the service, because its filters
/// count.
#[derive(Args, Debug)]
#[command(after_help = LOOKS_HELP)]
pub struct PlanLooks {
    /// Write the line to this file instead (`-`: standard output)
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

const STATUS_HELP: &str = "\
Exit code:
    0  the status has been printed
    1  the process is not under a plan, or keeps no tally (UNSPIN_STATUS=1)
    2  the command line is wrong, or there is no process of that number
  125  the process may not be read: root may, and its owner where the kernel permits that to gdb -p, too

Examples:
  unspin plan status 4242                        # a process that was started with UNSPIN_STATUS=1
  unspin plan status 1                           # in a container, its service";

/// Show what the plan has replaced in a running process
///
/// Reads the tally that the library keeps in the memory of the process if the variable UNSPIN_STATUS is set to 1 when the process
/// starts. The process is not stopped.
#[derive(Args, Debug)]
#[command(after_help = STATUS_HELP)]
pub struct PlanStatus {
    /// The number of the process
    #[arg(value_name = "PID")]
    pub pid: u32,
}
