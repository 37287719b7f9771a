//! The web shop of TPC-W, as OSDL's Database Test 1 (DBT-1) ran it in 2002: the benchmark in Andrew Morton's commit message on
//! RCU for System V IPC.
//!
//! ```text
//! Options ─► Database (SQLite, PostgreSQL) ─► population ─► runs ─► browsers ─► Pool ─► Shop: one transaction for a page
//!                                                            └─► integrity: tables against each other, and against the browsers
//! ```
//!
//! Rules and numbers are those of the TPC-W specification, version 1.8, whose clauses the comments name; docs/dbt1.md lists the
//! differences. No code is taken from the specification, DBT-1 or other implementations.
//!
//! It is an ordinary program: it calls libc, and the locks that it has itself (the pool of connections, the queue of SQLite's
//! writers) are pthread mutexes, so that a preloaded library can meter and replace them.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod benchmark;
mod browser;
mod database;
mod figures;
mod histogram;
mod integrity;
mod interaction;
mod ledger;
mod log;
mod mix;
mod money;
mod options;
mod pool;
mod population;
mod postgres;
mod random;
mod runs;
mod schema;
mod server;
mod shop;
mod sqlite;
mod value;

pub use benchmark::{Prepared, benchmark, prepare};
pub use database::{Access, Database, Failure, Session};
pub use figures::{Figures, RunFigures};
pub use interaction::Interaction;
pub use mix::Mix;
pub use options::{DatabaseChoice, Durability, Options};
pub use population::{Populated, Scale};
pub use runs::{Event, run};
pub use schema::{TABLES, Table};
pub use server::{Cluster, installed as installed_server, withheld};
pub use sqlite::Sqlite;
use value::values;
pub use value::{Row, Value};

/// Why a benchmark has no result.
#[derive(Debug)]
pub enum Error {
    /// An option makes no sense, or does not fit the database; the text names the option.
    Option(String),
    /// There is no database server on this machine; the text says what to install.
    NoServer(String),
    /// A run failed, or the database did; the text says what happened.
    Run(String),
    /// It was told to stop.
    Interrupted,
}

impl Error {
    fn database(failure: Failure) -> Error {
        match failure {
            Failure::Interrupted => Error::Interrupted,
            other => Error::Run(other.to_string()),
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Option(text) | Error::NoServer(text) | Error::Run(text) => f.write_str(text),
            Error::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}
