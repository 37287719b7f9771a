//! What the shop requires of a database.
//!
//! A statement is SQL that SQLite and PostgreSQL both understand. Its parameters are `$1`, `$2`, …; they first appear in that
//! order, because SQLite numbers named parameters by their first appearance.

use crate::schema::Table;
use crate::value::{Row, Value};
use std::fmt;

/// A database with the tables of the shop.
pub trait Database: Sync {
    /// Its name and version, for the header of the report.
    fn name(&self) -> String;

    /// Opens a session.
    fn connect(&self) -> Result<Box<dyn Session + '_>, Failure>;
}

/// A session. It performs one transaction at a time, and changes its thread only between two of them.
pub trait Session: Send {
    /// Begins a transaction.
    fn begin(&mut self, access: Access) -> Result<(), Failure>;

    /// Runs a statement and returns its rows.
    fn query(&mut self, statement: &'static str, parameters: &[Value]) -> Result<Vec<Row>, Failure>;

    /// Runs a statement whose result does not matter. It may be sent later, with the next statement or the commit, which then
    /// returns its failure.
    fn execute(&mut self, statement: &'static str, parameters: &[Value]) -> Result<(), Failure> {
        self.query(statement, parameters).map(drop)
    }

    /// Ends the transaction. After a failure it has not happened, unless the failure is [`Failure::Lost`]: then that is unknown.
    fn commit(&mut self) -> Result<(), Failure>;

    /// Gives the transaction up.
    fn roll_back(&mut self);

    /// Runs statements without parameters and result, outside a transaction.
    fn run_script(&mut self, script: &str) -> Result<(), Failure>;

    /// Appends rows to a table, as fast as the database can.
    fn load(&mut self, table: &Table, rows: &mut dyn Iterator<Item = Vec<Value>>) -> Result<(), Failure>;
}

/// What a transaction will do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It only reads.
    Read,
    /// It also writes.
    Write,
}

/// Why a database did not do what it was told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Another transaction was in the way. The transaction may succeed when it is tried again.
    Conflict(String),
    /// There is no space left.
    Full(String),
    /// The connection is lost.
    Lost(String),
    /// Any other reason.
    Refused(String),
    /// The database answered, and the answer cannot be right.
    Wrong(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Conflict(text) => write!(f, "transactions block each other: {text}"),
            Failure::Full(text) => write!(f, "the disk is full: {text}"),
            Failure::Lost(text) => write!(f, "the connection to the database is lost: {text}"),
            Failure::Refused(text) => write!(f, "the database refuses a statement: {text}"),
            Failure::Wrong(text) => write!(f, "the database gives a wrong answer: {text}"),
        }
    }
}

/// Performs a transaction that is one statement and only reads. It needs no begin and no commit, which would be two more messages to
/// a server.
pub fn read(
    session: &mut dyn Session,
    conflicts: &mut u64,
    statement: &'static str,
    parameters: &[Value],
) -> Result<Vec<Row>, Failure> {
    for _ in 1..ATTEMPTS {
        match session.query(statement, parameters) {
            Err(Failure::Conflict(_)) => *conflicts += 1,
            outcome => return outcome,
        }
    }
    session.query(statement, parameters)
}

/// How often a transaction is tried that is in conflict with others.
const ATTEMPTS: usize = 20;

/// Performs a transaction. Tries it again if it is in conflict with another one, and adds the number of failed attempts to
/// `conflicts`.
pub fn transact<T>(
    session: &mut dyn Session,
    access: Access,
    conflicts: &mut u64,
    mut body: impl FnMut(&mut dyn Session) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let mut once = || {
            session.begin(access)?;
            let result = body(session)?;
            session.commit()?;
            Ok(result)
        };
        match once() {
            Err(Failure::Conflict(_)) if attempt < ATTEMPTS => {
                session.roll_back();
                *conflicts += 1;
            }
            Err(failure) => {
                session.roll_back();
                return Err(failure);
            }
            Ok(result) => return Ok(result),
        }
    }
}
