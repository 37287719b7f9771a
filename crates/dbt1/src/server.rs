//! A PostgreSQL server of our own: a new cluster in a folder, reached by a Unix socket in it, that ends with the benchmark.
//!
//! It ends in any case: `Drop` stops it, and if this process is killed the kernel sends it SIGINT, which is a fast shutdown.

use crate::Error;
use crate::log::Log;
use crate::options::{Durability, Options};
use crate::postgres::Postgres;
use nix::unistd::{Uid, User};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio_postgres::Config;
use unspin_sys::child::{self, Signal};

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    /// None once it has been stopped.
    process: Option<Child>,
    /// The server's socket and the cluster.
    home: PathBuf,
    log: Log,
}

/// The superuser of the cluster. It has no password: only root and the server's own user can reach the socket.
const USER: &str = "unspin";
/// Longest path of a socket, unix(7), without `/.s.PGSQL.5432`.
const SOCKET_FOLDER_MAX: usize = 107 - 14;
/// Time that the server has for its start. It takes a second; a full disk or a busy machine may need more.
const START: Duration = Duration::from_secs(60);
/// Time between two looks whether the server is ready or has ended.
const LOOK: Duration = Duration::from_millis(20);
/// What is sent to stop the server, and the time that it then has: a fast shutdown, an immediate one, the end.
const STOPS: [(Signal, Duration); 3] = [
    (Signal::PassedOn(SIGINT), Duration::from_secs(30)),
    (Signal::PassedOn(SIGQUIT), Duration::from_secs(10)),
    (Signal::Kill, Duration::from_secs(10)),
];
/// From signal(7).
const SIGINT: i32 = 2;
const SIGQUIT: i32 = 3;
/// The server's port, which is a part of the name of its socket: that of the library of the browsers.
const PORT: u16 = 5432;
/// Connections besides those of the browsers: ours for checks, and those that the server reserves.
const OTHER_CONNECTIONS: usize = 8;

/// Whether [`Cluster::make`] finds an installed server, and a user under which it can run.
///
/// # Errors
/// [`Error::NoServer`], with what to install.
pub fn check_server() -> Result<(), Error> {
    find_programs().and(account()).map(drop)
}

/// The variables of the environment that PostgreSQL's programs read, such as PGPORT. They describe a server of the
/// user, so the benchmark's server and its clients do not get them.
pub fn withheld() -> Vec<OsString> {
    let names = std::env::vars_os().map(|(name, _)| name);
    names.filter(|name| name.as_encoded_bytes().starts_with(b"PG")).collect()
}

/// A cluster, on which a server can be started.
#[derive(Debug)]
pub struct Cluster(Launcher);

impl Cluster {
    /// Makes one in `folder`.
    pub fn make(folder: &Path) -> Result<Cluster, Error> {
        let programs = find_programs()?;
        let account = account()?;
        let home = folder.join("postgres");
        if home.as_os_str().len() > SOCKET_FOLDER_MAX {
            return Err(Error::Run(format!(
                "{}: too long for the path of a socket: set TMPDIR to another folder",
                home.display()
            )));
        }
        let at_home = |error| Error::Run(format!("{}: {error}", home.display()));
        // The log lies beside that folder, which the server's user may own: it would choose what we open there.
        let log = Log::create(&folder.join("log")).map_err(at_home)?;
        DirBuilder::new().mode(0o700).create(&home).map_err(at_home)?;
        if let Some(account) = &account {
            // The server's user has to pass through the folder, and owns the cluster.
            fs::set_permissions(folder, Permissions::from_mode(0o711)).map_err(at_home)?;
            lchown(&home, Some(account.uid.as_raw()), Some(account.gid.as_raw())).map_err(at_home)?;
        }
        let launcher = Launcher { programs, account, home, log };
        launcher.make_cluster()?;
        Ok(Cluster(launcher))
    }

    /// Starts a server on it.
    pub fn start(&self, options: &Options, stop: &AtomicBool) -> Result<Server, Error> {
        let home = self.0.home.clone();
        let at_home = |error| Error::Run(format!("{}: {error}", home.display()));
        let process = self.0.server(options).spawn().map_err(at_home)?;
        let log = self.0.log.again().map_err(at_home)?;
        let mut server = Server { process: Some(process), home, log };
        server.wait_until_ready(stop)?;
        Ok(server)
    }

    /// The words that start a server on it.
    pub fn command_line(&self, options: &Options) -> Vec<OsString> {
        let program = self.0.programs.join("postgres").into();
        [program, "-D".into(), self.0.data().into()].into_iter().chain(self.0.arguments(options)).collect()
    }

    /// The words of a command that succeeds once a server answers.
    pub fn ready(&self) -> Vec<OsString> {
        let program = self.0.programs.join("pg_isready").into();
        let [host, port] = ["-h".into(), "-p".into()];
        vec![program, "-q".into(), host, self.0.home.clone().into(), port, PORT.to_string().into()]
    }

    /// Where a server on it can be reached.
    pub fn url(&self) -> String {
        let mut host = String::new();
        for byte in self.0.home.as_os_str().as_encoded_bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => host.push(char::from(*byte)),
                other => host.push_str(&format!("%{other:02X}")),
            }
        }
        format!("postgres://{USER}@{host}:{PORT}/postgres")
    }

    /// User and group that a server must run as; none for ours.
    pub fn account(&self) -> Option<(u32, u32)> {
        self.0.account.as_ref().map(|user| (user.uid.as_raw(), user.gid.as_raw()))
    }
}

impl Server {
    /// How to connect to it.
    pub fn config(&self) -> Config {
        let mut config = Config::new();
        config.host_path(&self.home).port(PORT).user(USER).dbname("postgres");
        config
    }

    fn wait_until_ready(&mut self, stop: &AtomicBool) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            let Err(failure) = Postgres::reach(self.config(), Durability::Relaxed, stop) else {
                return Ok(());
            };
            // Relaxed: the flag guards no other data.
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let has_ended = self.process.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)));
            if has_ended || began.elapsed() > START {
                return Err(Error::Run(format!(
                    "the PostgreSQL server does not start: {}",
                    self.log.last_words().unwrap_or_else(|| failure.to_string())
                )));
            }
            thread::sleep(LOOK);
        }
    }

    /// Adds to an error why the server is gone, if it has said so.
    pub fn explain(&self, error: Error) -> Error {
        let words = self.log.last_line(&["PANIC: ", "FATAL: ", "was terminated by signal"]);
        match (error, words) {
            (Error::Run(text), Some(words)) => Error::Run(format!("{text} (the server's log: {words})")),
            (error, _) => error,
        }
    }

    /// Stops it, and waits until it has ended.
    fn stop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        for (signal, time) in STOPS {
            // Once it has been waited for, its pid may be that of another process.
            if !matches!(process.try_wait(), Ok(None)) {
                return;
            }
            // It cannot be gone: it has not been waited for.
            let _ = child::signal(process.id(), signal);
            let began = Instant::now();
            while began.elapsed() < time {
                if !matches!(process.try_wait(), Ok(None)) {
                    return;
                }
                thread::sleep(LOOK);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What starts a server.
#[derive(Debug)]
struct Launcher {
    /// The folder of its programs.
    programs: PathBuf,
    /// The user that it runs as; none for ours.
    account: Option<User>,
    home: PathBuf,
    log: Log,
}

impl Launcher {
    fn make_cluster(&self) -> Result<(), Error> {
        let mut command = self.command("initdb");
        command.args(["--username", USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        match command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Error::Run(format!(
                "initdb cannot make a cluster in {}: {}",
                self.home.display(),
                self.log.last_words().unwrap_or_else(|| status.to_string())
            ))),
            Err(error) => Err(Error::Run(format!("{}: {error}", self.programs.join("initdb").display()))),
        }
    }

    fn server(&self, options: &Options) -> Command {
        let mut command = self.command("postgres");
        command.args(self.arguments(options));
        command
    }

    fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    /// The arguments of a server, after the folder of its data.
    fn arguments(&self, options: &Options) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["-k".into(), self.home.clone().into()];
        for setting in [
            "listen_addresses=",
            &format!("port={PORT}"),
            &format!("max_connections={}", options.connections() + OTHER_CONNECTIONS),
            // A quarter of a gibibyte holds the default population.
            "shared_buffers=256MB",
        ] {
            arguments.extend(["-c".into(), setting.into()]);
        }
        arguments
    }

    /// A program of PostgreSQL: as the server's user, in its own process group, so that the terminal's signals do not reach it.
    /// It gets SIGINT when this thread ends. What a preloaded library does is meant for this process, not for the server.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.arg("-D").arg(self.data()).current_dir(&self.home).stdin(Stdio::null());
        match (self.log.again(), self.log.again()) {
            (Ok(stdout), Ok(stderr)) => command.stdout(stdout.file).stderr(stderr.file),
            _ => command.stdout(Stdio::null()).stderr(Stdio::null()),
        };
        command.env_remove("LD_PRELOAD").env("LC_ALL", "C");
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"UNSPIN_") {
                command.env_remove(name);
            }
        }
        for name in withheld() {
            command.env_remove(name);
        }
        if let Some(account) = &self.account {
            command.uid(account.uid.as_raw()).gid(account.gid.as_raw());
        }
        child::signal_on_parent_death(&mut command, Signal::PassedOn(SIGINT));
        command
    }
}

/// PostgreSQL refuses to run as root. Then it runs as the first of these users that exists.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

fn account() -> Result<Option<User>, Error> {
    if !Uid::effective().is_root() {
        return Ok(None);
    }
    let found = ACCOUNTS.iter().find_map(|name| User::from_name(name).ok().flatten());
    found.map(Some).ok_or_else(|| {
        Error::NoServer("PostgreSQL does not run as root, and there is no user postgres or nobody".into())
    })
}

/// The folder with the programs of the newest server: in PATH, or where Debian and Red Hat install them.
fn find_programs() -> Result<PathBuf, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path)
        .chain(versions("/usr/lib/postgresql", ""))
        .chain(versions("/usr", "pgsql-"));
    let found = folders
        .into_iter()
        .find(|folder| ["initdb", "postgres"].iter().all(|name| folder.join(name).is_file()));
    // initdb looks for its own files beside the program that it really is.
    found.map(|folder| folder.join("initdb").canonicalize().ok().and_then(|file| Some(file.parent()?.into())).unwrap_or(folder))
        .ok_or_else(|| {
            Error::NoServer(
                "there is no PostgreSQL server in PATH or /usr/lib/postgresql: install one (Debian: apt-get install postgresql), \
                 or name a running one with --db postgres://USER@HOST/DATABASE"
                    .into(),
            )
        })
}

/// The folders `bin` of all versions below a folder, newest first.
fn versions(below: &str, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(below).into_iter().flatten().flatten();
    let version = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let version: u32 = name.strip_prefix(prefix)?.parse().ok()?;
        Some((version, entry.path().join("bin")))
    };
    let mut found: Vec<(u32, PathBuf)> = entries.filter_map(version).collect();
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, folder)| folder).collect()
}
