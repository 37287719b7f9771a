//! Running a program in a world of its own.

use crate::{Outcome, Recorder, Running, SystemCall, User, WaitMode, World, preload, trace};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use unspin_locks::RwLockKind;
use unspin_wire::environment;
use unspin_wire::plan::TITLE;

/// A program about to run, with an arena of its own.
#[derive(Debug)]
pub struct Run {
    command: Command,
    world: World,
    before: Vec<OsString>,
    behind: Vec<OsString>,
    input: Vec<u8>,
    user: Option<User>,
    directory: tempfile::TempDir,
}

impl Run {
    /// `program` in `world`.
    pub fn new(program: impl AsRef<OsStr>, world: World) -> Run {
        let mut command = Command::new(program);
        // What the program prints must not depend on the user that runs the tests.
        command.env_remove("LD_PRELOAD").env("LC_ALL", "C");
        for name in environment::ALL {
            command.env_remove(name);
        }
        let (before, behind, input) = (vec![], vec![], vec![]);
        Run { command, world, before, behind, input, user: None, directory: scratch() }
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Run {
        self.command.args(args);
        self
    }

    /// Sets a variable of the environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Run {
        self.command.env(name, value);
        self
    }

    /// Sets the working directory.
    pub fn current_dir(mut self, directory: &Path) -> Run {
        self.command.current_dir(directory);
        self
    }

    /// Loads another library too, behind ours.
    pub fn also_preload(mut self, library: &Path) -> Run {
        self.behind.push(library.into());
        self
    }

    /// Loads another library too. Its definitions precede those of the preload library.
    pub fn preload_before(mut self, library: &Path) -> Run {
        self.before.push(library.into());
        self
    }

    /// What the program reads from its standard input.
    pub fn input(mut self, text: impl Into<Vec<u8>>) -> Run {
        self.input = text.into();
        self
    }

    /// Lets another user run the program.
    pub fn user(mut self, user: User) -> Run {
        user.apply_to(&mut self.command);
        self.user = Some(user);
        self
    }

    /// Lets the program record into `recorder`.
    pub fn record(self, recorder: &Recorder) -> Run {
        self.env(environment::RECORD, recorder.path())
    }

    /// Replaces the program's mutexes by a compiled plan with the lines of this text below its title.
    pub fn mutexes(self, lines: &str) -> Run {
        let path = self.directory.path().join("mutexes");
        std::fs::write(&path, format!("{TITLE}\n{lines}\n")).expect("the scratch directory takes a file");
        self.env(environment::PLAN, path)
    }

    /// Replaces the program's read-write locks by locks of this kind.
    pub fn rwlocks(self, kind: RwLockKind) -> Run {
        self.mutexes(&format!("rwlock\t{kind}\tall"))
    }

    /// Sets what the program's threads do before they sleep.
    pub fn waits(self, waits: WaitMode) -> Run {
        let path = self.directory.path().join("plan");
        std::fs::write(&path, waits.plan()).expect("the scratch directory takes a file");
        self.env(environment::PLAN, path)
    }

    /// What is to be executed.
    pub(crate) fn command(&self) -> &Command {
        &self.command
    }

    /// Where.
    pub(crate) fn world(&self) -> World {
        self.world
    }

    /// What the program will read from its standard input.
    pub(crate) fn stdin(&self) -> &[u8] {
        &self.input
    }

    /// Runs to the end.
    ///
    /// # Panics
    /// If the program does not start, or hangs; then it and its children are killed.
    pub fn output(self) -> Outcome {
        self.start().output()
    }

    /// Runs to the end, and shows each system call of the program and of its children: see [`trace`].
    ///
    /// # Panics
    /// If the program does not start, or fails.
    pub fn traced(mut self, each: impl FnMut(&SystemCall)) {
        self.enter_world();
        let status = trace(self.command.stdin(Stdio::null()).stdout(Stdio::null()), each)
            .unwrap_or_else(|e| panic!("{:?} does not start: {e}", self.command));
        assert!(status.success(), "{:?} in world {}: {status}", self.command, self.world);
    }

    /// The arena of its engine.
    pub fn arena(&self) -> PathBuf {
        self.directory.path().join("arena")
    }

    /// Starts it.
    ///
    /// # Panics
    /// If the program does not start.
    pub fn start(mut self) -> Running {
        self.enter_world();
        let path = |name: &str| self.directory.path().join(name);
        std::fs::write(path("stdin"), &self.input).expect("the scratch directory takes a file");
        let file = |name: &str| File::create(path(name)).expect("the scratch directory takes a file");
        // Files, not pipes: a pipe would stay open as long as a child that outlives the program.
        self.command
            .stdin(Stdio::from(File::open(path("stdin")).expect("it was just written")))
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .process_group(0);
        let child = self.command.spawn().unwrap_or_else(|e| panic!("{:?} does not start: {e}", self.command));
        let name = format!("{:?} in world {}", self.command, self.world);
        Running { child, name, directory: self.directory }
    }

    /// The library under test, at a place where the user of the program can read it.
    fn library(&self) -> PathBuf {
        let Some(user) = self.user else { return preload().to_owned() };
        let directory = self.directory.path();
        user.give_file(directory).expect("root may give a folder to any user");
        let copy = directory.join("libunspin_preload.so");
        std::fs::copy(preload(), &copy).expect("the scratch directory takes a file");
        copy
    }

    /// Sets what the test has not set itself.
    fn enter_world(&mut self) {
        let mut preloads = self.before.clone();
        if let Some(engine) = self.world.engine() {
            preloads.push(self.library().into());
            let arena = self.arena();
            for (name, value) in
                [(environment::SYSV, engine.as_ref()), (environment::ARENA, arena.as_os_str())]
            {
                if !self.command.get_envs().any(|(set, to)| set == name && to.is_some()) {
                    self.command.env(name, value);
                }
            }
        }
        preloads.extend_from_slice(&self.behind);
        if !preloads.is_empty() {
            self.command.env("LD_PRELOAD", preloads.join(OsStr::new(":")));
        }
    }
}

/// A directory for one test, in memory where possible, since arenas are written all over. Deleted when dropped.
pub fn scratch() -> tempfile::TempDir {
    let builder = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix("unspin-e2e-");
        builder
    };
    builder()
        .tempdir_in("/dev/shm")
        .or_else(|_| builder().tempdir())
        .unwrap_or_else(|e| panic!("no directory for temporary files: {e}; set TMPDIR"))
}
