//! A workspace in which several programs meet: a world, a directory, an arena.

use crate::{Run, User, World, find_tool, run, skip};
use std::ffi::OsStr;
use std::path::Path;

/// The world, user and directory that the programs of one test share.
#[derive(Debug)]
pub struct Workspace {
    world: World,
    user: Option<User>,
    directory: tempfile::TempDir,
}

impl Workspace {
    /// A new workspace, for the user that runs the tests.
    pub fn new(world: World) -> Workspace {
        Workspace { world, user: None, directory: run::scratch() }
    }

    /// A new workspace whose programs do not run as root, if there is another user.
    ///
    /// # Panics
    /// If the directory cannot be given away.
    pub fn without_root(world: World) -> Workspace {
        let workspace = Workspace { user: User::instead_of_root(), ..Workspace::new(world) };
        if let Some(user) = workspace.user {
            user.give_file(workspace.path()).expect("root gives away what it likes");
        }
        workspace
    }

    /// What answers the System V calls here.
    pub fn world(&self) -> World {
        self.world
    }

    /// The directory, in which the programs run.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// What `ipcs` still lists here, one object a line.
    ///
    /// # Panics
    /// If `ipcs` fails.
    pub fn leftovers(&self) -> String {
        let Some(ipcs) = find_tool("ipcs") else {
            skip("what is left behind", "there is no ipcs; install util-linux");
            return String::new();
        };
        let outcome = self.run(ipcs).output();
        assert!(outcome.is_clean(), "{outcome}");
        outcome.stdout.lines().filter(|line| line.starts_with("0x")).collect::<Vec<_>>().join("\n")
    }

    /// A program that is to run here.
    pub fn run(&self, program: impl AsRef<OsStr>) -> Run {
        let run = Run::new(program, self.world).env("UNSPIN_ARENA", self.path().join("arena"));
        let run = run.current_dir(self.path());
        match self.user {
            Some(user) => run.user(user),
            None => run,
        }
    }
}
