//! What the shop requires of a database.
//!
//! A statement is SQL that SQLite and PostgreSQL both understand. Its parameters are `$1`, `$2`, …; they first appear in that
//! order, because SQLite numbers named parameters by their first appearance.

use crate::schema::Table;
use crate::value::{Row, Value};
use std::fmt;
use std::thread;
use std::time::Duration;

/// A database with the tables of the shop.
pub trait Database: Sync {
    /// The database's name and version, for the header of the report.
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

    /// Ends the transaction. After a failure the transaction has not happened; after [`Failure::Lost`] it is unknown
    /// whether it has.
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
    /// The benchmark was told to stop before the database had answered.
    Interrupted,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Conflict(text) => write!(f, "transactions block each other: {text}"),
            Failure::Full(text) => write!(f, "the disk is full: {text}"),
            Failure::Lost(text) => write!(f, "the connection to the database is lost: {text}"),
            Failure::Refused(text) => write!(f, "the database refuses a statement: {text}"),
            Failure::Wrong(text) => write!(f, "the database gives a wrong answer: {text}"),
            Failure::Interrupted => f.write_str("interrupted"),
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
    for attempt in 1..ATTEMPTS {
        match session.query(statement, parameters) {
            Err(Failure::Conflict(_)) => back_off(attempt, conflicts),
            outcome => return outcome,
        }
    }
    session.query(statement, parameters)
}

/// How often a transaction is tried that is in conflict with others.
const ATTEMPTS: u32 = 20;
/// Greatest time before the second attempt; it doubles with each.
const BACK_OFF: Duration = Duration::from_micros(500);
/// Greatest time before any attempt: all together take less than a second.
const BACK_OFF_MAX: Duration = Duration::from_millis(50);

/// Counts a conflict, and waits before the next attempt. The time is random, so that conflicting transactions do not
/// meet again. It does not come from the browser's random numbers, which would then depend on conflicts.
fn back_off(attempt: u32, conflicts: &mut u64) {
    *conflicts += 1;
    thread::sleep(longest(attempt).mul_f64(fastrand::f64()));
}

/// The greatest time after this attempt, counted from 1.
fn longest(attempt: u32) -> Duration {
    BACK_OFF.saturating_mul(1 << (attempt - 1).min(16)).min(BACK_OFF_MAX)
}

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
                back_off(attempt, conflicts);
            }
            Err(failure) => {
                session.roll_back();
                return Err(failure);
            }
            Ok(result) => return Ok(result),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn back_off_doubles_up_to_a_limit() {
        let all: Vec<Duration> = (1..ATTEMPTS).map(longest).collect();
        assert_eq!(all[..3], [1, 2, 4].map(|factor| BACK_OFF * factor));
        assert_eq!(all.last(), Some(&BACK_OFF_MAX));
        assert!(all.iter().sum::<Duration>() < Duration::from_secs(1));
    }

    /// A session that is in conflict so many times.
    struct Conflicting(u32, Vec<Instant>);

    impl Session for Conflicting {
        fn begin(&mut self, _: Access) -> Result<(), Failure> {
            self.1.push(Instant::now());
            Ok(())
        }

        fn query(&mut self, _: &'static str, _: &[Value]) -> Result<Vec<Row>, Failure> {
            self.begin(Access::Read)?;
            self.commit().map(|()| Vec::new())
        }

        fn commit(&mut self) -> Result<(), Failure> {
            match self.0.checked_sub(1) {
                None => Ok(()),
                Some(left) => {
                    self.0 = left;
                    Err(Failure::Conflict("deadlock".into()))
                }
            }
        }

        fn roll_back(&mut self) {}

        fn run_script(&mut self, _: &str) -> Result<(), Failure> {
            Ok(())
        }

        fn load(&mut self, _: &Table, _: &mut dyn Iterator<Item = Vec<Value>>) -> Result<(), Failure> {
            Ok(())
        }
    }

    #[test]
    fn conflicts_are_counted_and_are_not_repeated_at_once() {
        type Tries = fn(&mut Conflicting, &mut u64) -> Result<(), Failure>;
        let tries: [Tries; 2] = [
            |session, conflicts| transact(session, Access::Write, conflicts, |_| Ok(())),
            |session, conflicts| read(session, conflicts, "SELECT 1", &[]).map(drop),
        ];
        for tried in tries {
            let (mut session, mut conflicts) = (Conflicting(ATTEMPTS - 1, Vec::new()), 0);
            tried(&mut session, &mut conflicts).unwrap();
            assert_eq!((conflicts, session.1.len()), (u64::from(ATTEMPTS) - 1, ATTEMPTS as usize));
            // Thirteen waits of 25 ms on average: less than 10 ms in all is out of the question.
            let all = session.1[session.1.len() - 1] - session.1[0];
            assert!(all >= Duration::from_millis(10), "{all:?}");
            let (mut session, mut conflicts) = (Conflicting(ATTEMPTS, Vec::new()), 0);
            let outcome = tried(&mut session, &mut conflicts);
            assert!(matches!(outcome, Err(Failure::Conflict(_))) && conflicts == u64::from(ATTEMPTS) - 1);
        }
    }
}
