//! The options of `unspin ipcs`, `ipcrm` and `ipcmk`: util-linux's, and which engine's objects are meant.

use super::VERSION;
use super::ipc_names::{self, Removals};
use crate::engine::{self, Engine};
use crate::ipc::size;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use unspin_sysv::Class;

const ENGINES: &str = "\
Whose objects: --sysv, or the engine that --arena was made for, or what the environment of a program under `unspin run` \
names (UNSPIN_SYSV, UNSPIN_ARENA), or the engine rcu in its usual arena. An arena lies in a file; `--arena default` is the \
usual one of user, IPC namespace and engine.";

/// The engine whose objects are meant.
#[derive(Args, Debug)]
pub struct Source {
    /// The engine; `kernel` means the kernel's own objects, which lie in no arena
    #[arg(long, value_name = "ENGINE", value_parser = engine::parser())]
    pub sysv: Option<Engine>,
}

const IPCS_HELP: &str = "\
Examples:
  unspin ipcs                       the objects of programs under `unspin run --sysv rcu`
  unspin ipcs -s -i 32768           the values of a semaphore set, and who waits
  unspin ipcs -m -p --sysv kernel   the kernel's segments, with pids, as ipcs(1) shows them
  unspin ipcs --arenas              where objects lie, and who uses them

Exit code:
    0  all has been printed; also if nothing has the id of -i: a line on standard error says so
    1  the command line is wrong, an arena that was named is not there, or an object must not be read
  125  an arena cannot be opened or read";

/// Show what System V IPC objects there are
///
/// Message queues, shared memory segments and semaphore sets, with the options and the output of util-linux's ipcs(1). While
/// no program has made the usual arena there are no objects. Output options exclude each other: the last one counts.
#[derive(Args, Debug)]
#[command(version = VERSION, infer_long_args = true, args_override_self = true, after_help = IPCS_HELP, after_long_help = long(IPCS_HELP))]
pub struct Ipcs {
    /// All about the object with this id; together with one of -m, -q and -s
    #[arg(short, long, value_name = "ID", allow_negative_numbers = true, value_parser = id)]
    pub id: Option<i32>,

    /// Shared memory segments
    #[arg(short = 'm', long, help_heading = RESOURCES)]
    pub shmems: bool,

    /// Message queues
    #[arg(short, long, help_heading = RESOURCES)]
    pub queues: bool,

    /// Semaphore sets
    #[arg(short, long, help_heading = RESOURCES)]
    pub semaphores: bool,

    /// All three, which is the default
    #[arg(short, long, help_heading = RESOURCES)]
    pub all: bool,

    /// Show when they were used and changed
    #[arg(short, long, help_heading = OUTPUT, overrides_with_all = VIEWS)]
    pub time: bool,

    /// Show the pids of who made and used them
    #[arg(short, long, help_heading = OUTPUT, overrides_with_all = VIEWS)]
    pub pid: bool,

    /// Show who made and who owns them
    #[arg(short, long, help_heading = OUTPUT, overrides_with_all = VIEWS)]
    pub creator: bool,

    /// Show the limits
    #[arg(short, long, help_heading = OUTPUT, overrides_with_all = VIEWS)]
    pub limits: bool,

    /// Show how many there are
    #[arg(short = 'u', long, help_heading = OUTPUT, overrides_with_all = VIEWS)]
    pub summary: bool,

    /// Show sizes such as 1.5K
    #[arg(long, help_heading = OUTPUT, overrides_with = "bytes")]
    pub human: bool,

    /// Show sizes in bytes
    #[arg(short, long, help_heading = OUTPUT, overrides_with = "human")]
    pub bytes: bool,

    #[command(flatten)]
    pub source: Source,

    /// The file that holds the objects, as for `unspin run`
    #[arg(long, value_name = "FILE")]
    pub arena: Option<PathBuf>,

    /// Show the arenas in a folder, in place of objects: your own, or everybody's if you are root
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, require_equals = true, default_missing_value = "/dev/shm",
          conflicts_with_all = NOT_OF_ARENAS)]
    pub arenas: Option<PathBuf>,
}

const RESOURCES: &str = "Resource options";
const OUTPUT: &str = "Output options";
const VIEWS: [&str; 5] = ["time", "pid", "creator", "limits", "summary"];
const NOT_OF_ARENAS: [&str; 12] = [
    "id",
    "shmems",
    "queues",
    "semaphores",
    "all",
    "time",
    "pid",
    "creator",
    "limits",
    "summary",
    "sysv",
    "arena",
];

const IPCRM_HELP: &str = "\
Examples:
  unspin ipcrm -s 32768 -Q 0x5eed   a semaphore set by its id, a message queue by its key
  unspin ipcrm --all=shm            all segments of programs under `unspin run --sysv rcu`
  unspin ipcrm -s 3 --arena ./a     a set in an arena of another name
  unspin ipcrm --arena ./a          that arena, with all that is in it; `--arena default` is the usual one

Exit code:
    0  all has been removed
    1  something has not been removed, or the command line is wrong
  125  an arena cannot be opened or read";

/// Remove System V IPC objects, or whole arenas
///
/// With the options of util-linux's ipcrm(1), in the order in which they are given; --all comes last. `unspin ipcs` shows
/// ids and keys.
#[derive(Args, Debug)]
#[command(version = VERSION, infer_long_args = true, args_override_self = true, arg_required_else_help = true,
          after_help = IPCRM_HELP, after_long_help = long(IPCRM_HELP))]
pub struct Ipcrm {
    #[command(flatten)]
    pub removals: Removals,

    /// Remove all objects, or all of a kind
    #[arg(short, long, value_name = "KIND", num_args = 0..=1, default_missing_value = "all")]
    pub all: Option<Kinds>,

    /// Say what is removed
    #[arg(short, long)]
    pub verbose: bool,

    #[command(flatten)]
    pub source: Source,

    /// The file that holds the objects, as for `unspin run`. If no objects are named, it is the arena itself that is
    /// removed, with all that is in it, and those of further FILEs
    #[arg(long, value_name = "FILE")]
    pub arena: Vec<PathBuf>,

    /// Remove arenas that living processes use, too: these lose each other and everything in them
    #[arg(long, requires = "arena", conflicts_with = "all", conflicts_with_all = ipc_names::OPTIONS)]
    pub force: bool,

    /// As before util-linux: shm, msg or sem, and ids
    #[arg(value_names = ["KIND ID"], conflicts_with = "all", conflicts_with_all = ipc_names::OPTIONS)]
    pub arguments: Vec<OsString>,
}

/// Which objects `--all` means.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Kinds {
    /// Shared memory segments.
    Shm,
    /// Message queues.
    Msg,
    /// Semaphore sets.
    Sem,
    /// All of them.
    #[value(hide = true)]
    All,
}

impl Kinds {
    /// In the order in which util-linux removes them.
    pub fn classes(self) -> &'static [Class] {
        match self {
            Kinds::Shm => &[Class::Shm],
            Kinds::Msg => &[Class::Msg],
            Kinds::Sem => &[Class::Sem],
            Kinds::All => &[Class::Shm, Class::Sem, Class::Msg],
        }
    }
}

const IPCMK_HELP: &str = "\
Examples:
  unspin ipcmk -S 3                     a semaphore set, for programs under `unspin run --sysv rcu`
  unspin ipcmk -M 64K -Q -p 0600        a segment and a queue, for their owner only
  unspin ipcmk -Q --arena /dev/shm/a    a queue in an arena of another name

Exit code:
    0  all has been made
    1  something could not be made, or the command line is wrong
  125  an arena cannot be opened or made";

/// Make System V IPC objects
///
/// With the options of util-linux's ipcmk(1). Each gets a key that no other object of its kind has, by which `unspin ipcs`
/// shows it.
#[derive(Args, Debug)]
#[command(version = VERSION, infer_long_args = true, args_override_self = true, arg_required_else_help = true,
          after_help = IPCMK_HELP, after_long_help = long(IPCMK_HELP),
          group(clap::ArgGroup::new("what").args(["shmem", "semaphore", "queue"]).required(true).multiple(true)))]
pub struct Ipcmk {
    /// Make a shared memory segment of this size: 4096, 64K, 1.5MiB, 2GB
    #[arg(short = 'M', long, value_name = "SIZE", value_parser = size::parse)]
    pub shmem: Option<usize>,

    /// Make a set of so many semaphores
    #[arg(short = 'S', long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = count)]
    pub semaphore: Option<i32>,

    /// Make a message queue
    #[arg(short = 'Q', long)]
    pub queue: bool,

    /// Who may do what with it, in octal digits as for chmod(1)
    #[arg(short = 'p', long, value_name = "MODE", default_value = "0644", value_parser = mode)]
    pub mode: i32,

    #[command(flatten)]
    pub source: Source,

    /// The file that is to hold the objects, as for `unspin run`
    #[arg(long, value_name = "FILE")]
    pub arena: Option<PathBuf>,
}

/// Blanks before a number are none of it: util-linux reads with strtol(3), here and below.
fn id(text: &str) -> Result<i32, String> {
    text.trim_ascii_start().parse().map_err(|_| "give an id, a decimal number".into())
}

fn count(text: &str) -> Result<i32, String> {
    text.trim_ascii_start().parse().map_err(|_| "give a decimal number".into())
}

fn mode(text: &str) -> Result<i32, String> {
    i32::from_str_radix(text.trim_ascii_start(), 8)
        .ok()
        .filter(|mode| (0..=0o777).contains(mode))
        .ok_or_else(|| "give octal digits up to 0777".into())
}

/// What `--help` says besides.
fn long(help: &str) -> String {
    format!("{ENGINES}\n\n{help}")
}
