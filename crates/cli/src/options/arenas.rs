//! The options of `unspin arenas`.

use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use unspin_launch::replace::engine::Engine;

const EXAMPLES: &str = "\
Examples:
  unspin arenas list                     # your arenas
  unspin arenas show default -s          # the semaphore sets of `unspin run --sysv rcu`
  unspin arenas remove ./my.arena";

/// List, show and remove arenas: the files that hold the objects of `unspin run --sysv`
///
/// The engines global and rcu keep System V IPC objects in an arena, a file in /dev/shm (or, if that has no room, in /tmp or /var/tmp)
/// or the one that --arena names. It outlives the programs that use it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ArenasOptions {
    /// What to do
    #[command(subcommand)]
    pub action: ArenasAction,
}

/// One variant for each action.
#[derive(Subcommand, Debug)]
pub enum ArenasAction {
    List(ArenasList),
    Show(ArenasShow),
    Remove(ArenasRemove),
}

const LIST_HELP: &str = "\
Exit code:
    0  the arenas have been listed
    2  the command line is wrong
  125  the folder cannot be read

Examples:
  unspin arenas list
  unspin arenas list --bytes .";

/// List arenas, their sizes, their objects and the processes that use them
///
/// Lists the arenas of the user, or of all users for root.
#[derive(Args, Debug)]
#[command(after_help = LIST_HELP)]
pub struct ArenasList {
    /// The folder in which to look for arenas [default: those of the default arenas, /dev/shm, /tmp and /var/tmp]
    #[arg(value_name = "FOLDER")]
    pub folder: Option<PathBuf>,

    /// Print sizes in bytes instead of units such as 1.5K
    #[arg(short, long)]
    pub bytes: bool,
}

const SHOW_HELP: &str = "\
Exit code: that of ipcs, or
    1  the arena does not exist
    2  the command line is wrong
  125  the arena cannot be opened, or is damaged
  126  ipcs cannot be executed
  127  ipcs is not installed

Examples:
  unspin arenas show default             # all objects of `unspin run --sysv rcu`
  unspin arenas show ./my.arena -s -i 0  # the values of one semaphore set";

/// Show the objects in an arena with the system's ipcs(1)
///
/// Runs ipcs, of the package util-linux, under the preload library with this arena. To create or remove objects run ipcmk
/// or ipcrm under `unspin run --sysv`.
#[derive(Args, Debug)]
#[command(after_help = SHOW_HELP)]
pub struct ArenasShow {
    /// The engine to which `default` refers [default: rcu]
    #[arg(long, value_name = "ENGINE", value_parser = super::engine::arena_parser())]
    pub sysv: Option<Engine>,

    /// The arena's file; or `default`, the default arena of user, IPC namespace and engine
    #[arg(value_name = "ARENA")]
    pub arena: PathBuf,

    /// Options of ipcs, such as -s for semaphore sets
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "IPCS OPTIONS")]
    pub arguments: Vec<OsString>,
}

const REMOVE_HELP: &str = "\
Exit code:
    0  all named arenas have been removed
    1  at least one was not removed; a line on standard error says why
    2  the command line is wrong, and nothing has been removed

Examples:
  unspin arenas remove ./my.arena
  unspin arenas remove --sysv global default";

/// Remove arenas with all objects in them
///
/// Refuses an arena that a living process uses, and a file that is not an arena.
#[derive(Args, Debug)]
#[command(after_help = REMOVE_HELP)]
pub struct ArenasRemove {
    /// Remove also arenas that living processes use: these no longer share objects with programs that start later
    #[arg(long)]
    pub force: bool,

    /// Print a line for each removed arena
    #[arg(short, long)]
    pub verbose: bool,

    /// The engine to which `default` refers [default: rcu]
    #[arg(long, value_name = "ENGINE", value_parser = super::engine::arena_parser())]
    pub sysv: Option<Engine>,

    /// Files of arenas; or `default`, the default arena of user, IPC namespace and engine
    #[arg(value_name = "ARENA", required = true)]
    pub arenas: Vec<PathBuf>,
}
