//! volano: VolanoMark's loopback test, a chat server and its users, without a JVM.
//!
//! Bill Hartner measured the run queue of Linux 2.4 with VolanoMark in 2001. Its rules are kept, from the Volano Report
//! (volano.org) and IBM's description of the workload; docs/volano.md states them.
//!
//! The master forks a server, and for each run a client. Each user of a chat room is a TCP connection between the two.
//! Each connection has a reader and a writer on both sides:
//!
//! ```text
//! client                                          server
//! turns ─► writer (ClientWriter) ──► socket ──► reader (ServerReader) ─► Room: position, then the outbox
//!   ▲                                                                             of each other user
//!   └───── reader (ClientReader) ◄── socket ◄── writer (ServerWriter) ◄── outbox ◄──┘
//!          checks and counts
//! ```
//!
//! What they do is in `client`, `server` and the modules that these use; whether threads or tasks do it, in `threads` and
//! `tasks`. All processes count in memory that they share (`accounts`). The master watches the counts, so it needs no
//! thread beside it, and no timeout in the chat itself.
//!
//! Threads wait by the C library's locks, as all workloads do. Executors of tasks have locks and waits of their own.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod accounts;
mod client;
mod connection;
mod end_report;
mod entry;
mod figures;
mod frames;
mod master;
mod message;
mod options;
mod process;
mod queue;
mod receipts;
mod room;
mod run_queue;
mod runner;
mod server;
mod tasks;
#[cfg(test)]
mod tests;
mod threads;
mod tokio;
mod turns;

pub use figures::{Figures, RunFigures};
pub use master::run;
pub use options::{Model, Options, Pace};
pub use unspin_runqueue::queue::Policy;

/// What may limit threads and connections, for messages.
const LIMITS: &str = "fewer --rooms or --users, or more of what limits them: ulimit -u, kernel.threads-max, \
                      kernel.pid_max, pids.max of the control group, memory";

/// Why a benchmark has no result.
#[derive(Debug)]
pub enum Error {
    /// An option makes no sense or exceeds a limit; the text names the option and the limit.
    Option(String),
    /// The operating system refused an operation; the text says which, and what the user can do.
    System(String, std::io::Error),
    /// A run failed; the text says what was delivered.
    Run(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::System(what, e) => write!(f, "{what}: {e}"),
            Error::Option(text) | Error::Run(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
