//! PostgreSQL, with all of its shared memory in System V segments.

use crate::{Outcome, Run, Running, Workspace, find_tool};
use std::path::{Path, PathBuf};

/// What is added to the configuration that `initdb` writes.
const CONFIGURATION: &str = "
shared_memory_type = sysv
dynamic_shared_memory_type = sysv
shared_buffers = 16MB
max_connections = 20
listen_addresses = ''
unix_socket_directories = '.'
# The machine does not crash, only the server does.
fsync = off
# Every query over this many rows has helpers, which meet in dynamic shared memory.
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
";

/// A database cluster in a workspace. Its server does not run yet.
#[derive(Debug)]
pub struct Postgres<'a> {
    programs: PathBuf,
    workspace: &'a Workspace,
}

impl<'a> Postgres<'a> {
    /// The folder of PostgreSQL's programs: of those in the search path, else of Debian's latest.
    pub fn programs() -> Option<PathBuf> {
        let known = find_tool("initdb").and_then(|path| path.canonicalize().ok());
        let debian = || {
            let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
            let programs = versions.flatten().map(|version| version.path().join("bin/initdb"));
            programs.filter(|path| path.exists()).max()
        };
        Some(known.or_else(debian)?.parent()?.to_owned())
    }

    /// Makes a cluster, which starts the server three times.
    ///
    /// # Panics
    /// If `initdb` fails.
    pub fn create(programs: &Path, workspace: &'a Workspace) -> Postgres<'a> {
        let postgres = Postgres { programs: programs.to_owned(), workspace };
        let args = ["--no-sync", "--auth=trust", "--username=tester", "--pgdata=data"];
        let outcome = postgres.run("initdb").args(args).output();
        assert!(outcome.is_clean(), "{outcome}");
        let path = workspace.path().join("data/postgresql.conf");
        let written = std::fs::read_to_string(&path).expect("initdb writes it");
        std::fs::write(&path, written + CONFIGURATION).expect("root, or who ran initdb, may write it");
        postgres
    }

    /// Starts the server.
    ///
    /// # Errors
    /// If it ends instead of accepting connections.
    pub fn start(&self) -> Result<Running, Outcome> {
        let mut server = self.run("postgres").args(["-D", "data", "-k", &self.sockets()]).start();
        if server.await_stderr("database system is ready to accept connections") {
            Ok(server)
        } else {
            Err(server.output())
        }
    }

    /// One of PostgreSQL's programs, at its workspace.
    pub fn run(&self, program: &str) -> Run {
        self.workspace.run(self.programs.join(program)).env("PGTZ", "UTC")
    }

    /// One that is a client of the server.
    pub fn client(&self, program: &str) -> Run {
        self.run(program).args(["--host", &self.sockets(), "--username", "tester"])
    }

    /// A client that executes statements, each of which is a transaction of its own.
    pub fn psql(&self, statements: &[&str]) -> Run {
        let run = self.client("psql").args(["--no-psqlrc", "--tuples-only", "--no-align", "--quiet"]);
        let run = run.args(["--set=ON_ERROR_STOP=1", "postgres"]);
        statements.iter().fold(run, |run, statement| run.args(["--command", statement]))
    }

    /// What statements answer, line by line.
    ///
    /// # Panics
    /// If one fails.
    pub fn ask(&self, statements: &[&str]) -> String {
        let outcome = self.psql(statements).output();
        assert!(outcome.status.success() && outcome.stderr.is_empty(), "{statements:?}: {outcome}");
        outcome.stdout.trim_end().to_owned()
    }

    fn sockets(&self) -> String {
        self.workspace.path().to_str().expect("a temporary directory has a plain name").to_owned()
    }
}
