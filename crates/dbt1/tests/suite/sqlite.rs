//! The shop on SQLite: population, runs, integrity, bad input.

use crate::common::{all_runs_did_something, small, until_long_enough};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use unspin_dbt1::{
    Access, Database, Durability, Error, Event, Failure, Figures, Interaction, Mix, Options, Row, Session,
    Sqlite, TABLES, Table, Value, run,
};

/// Runs it without an observer.
fn perform(options: &Options, database: &dyn Database) -> Result<Figures, Error> {
    run(options, database, &AtomicBool::new(false), &mut |_| ())
}

fn sqlite(folder: &Path) -> Sqlite {
    Sqlite::new(&folder.join("shop.db"), Durability::Relaxed)
}

fn number(session: &mut dyn Session, statement: &'static str) -> i64 {
    session.query(statement, &[]).unwrap()[0].int(0)
}

/// Clause 4.3: 2880 customers for each browser, two addresses for each customer, 0.9 orders, some 3 lines for each order, an author
/// for every four books, 92 countries.
#[test]
fn population_has_the_specified_counts() {
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(folder.path());
    perform(&Options { runs: 1, browsers: 1, mix: Mix::Browsing, ..small() }, &database).unwrap();
    let mut session = database.connect().unwrap();
    let session = &mut *session;
    assert_eq!(number(session, "SELECT COUNT(*) FROM country"), 92);
    assert_eq!(number(session, "SELECT COUNT(*) FROM item"), 1000);
    assert_eq!(number(session, "SELECT COUNT(*) FROM author"), 250);
    assert_eq!(number(session, "SELECT COUNT(*) FROM customer WHERE c_id <= 2880"), 2880);
    assert_eq!(number(session, "SELECT COUNT(*) FROM address WHERE addr_id <= 5760"), 5760);
    assert_eq!(number(session, "SELECT COUNT(*) FROM orders WHERE o_id <= 2592"), 2592);
    assert_eq!(number(session, "SELECT COUNT(*) FROM cc_xacts WHERE cx_o_id <= 2592"), 2592);
    let lines = number(session, "SELECT COUNT(*) FROM order_line WHERE ol_o_id <= 2592");
    assert!((7500..8050).contains(&lines), "{lines} lines of 2592 orders");
    for (rule, statement) in [
        ("stocks are 10 to 30", "SELECT COUNT(*) FROM item WHERE i_stock NOT BETWEEN 10 AND 51"),
        ("quantities are 1 to 300", "SELECT COUNT(*) FROM order_line WHERE ol_qty NOT BETWEEN 1 AND 300"),
        (
            "titles have 14 to 60 characters",
            "SELECT COUNT(*) FROM item WHERE LENGTH(i_title) NOT BETWEEN 14 AND 60",
        ),
        (
            "names have 14 to 20 letters",
            "SELECT COUNT(*) FROM author WHERE LENGTH(a_lname) NOT BETWEEN 14 AND 20",
        ),
        ("passwords are the names", "SELECT COUNT(*) FROM customer WHERE c_passwd <> LOWER(c_uname)"),
        ("discounts are 0 to 50", "SELECT COUNT(*) FROM customer WHERE c_discount NOT BETWEEN 0 AND 50"),
        (
            "prices are at most the list price",
            "SELECT COUNT(*) FROM item WHERE i_srp NOT BETWEEN 100 AND 999999",
        ),
    ] {
        assert_eq!(number(session, statement), 0, "{rule}");
    }
}

/// All rows of all tables, as the population makes them.
fn contents(options: &Options) -> Vec<Vec<Row>> {
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(folder.path());
    // Stopped before the first run.
    let stop = AtomicBool::new(false);
    let outcome = run(options, &database, &stop, &mut |event| {
        if let Event::Ready(_) = event {
            stop.store(true, Ordering::Relaxed);
        }
    });
    assert!(matches!(outcome, Err(Error::Interrupted)), "{outcome:?}");
    let mut session = database.connect().unwrap();
    let all = TABLES.iter().filter(|table| table.name != "customer");
    all.map(|table| session.query(format!("SELECT * FROM {}", table.name).leak(), &[]).unwrap()).collect()
}

#[test]
fn equal_seeds_give_equal_populations() {
    let options = Options { browsers: 1, connections: Some(1), mix: Mix::Browsing, ..small() };
    let (first, second) = (contents(&options), contents(&options));
    let other = contents(&Options { seed: 2, ..options });
    for (index, table) in TABLES.iter().filter(|table| table.name != "customer").enumerate() {
        // A browser may have visited the shop before it saw the stop.
        let count = if table.name == "item" { 900 } else { 90 };
        assert!(first[index][..count] == second[index][..count], "{}", table.name);
        assert_eq!(first[index][..count] == other[index][..count], table.name == "country", "{}", table.name);
    }
}

#[test]
fn every_interaction_is_performed_in_every_mix() {
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(folder.path());
    for mix in Mix::ALL {
        let bought = |figures: &Figures| -> u64 {
            figures.runs.iter().map(|run| run.times[Interaction::BuyConfirm as usize].count()).sum()
        };
        let figures = until_long_enough(
            &Options { mix, ..small() },
            |options| Some(perform(options, &database).unwrap()),
            |figures| all_runs_did_something(figures) && (mix != Mix::Ordering || bought(figures) > 0),
        );
        assert_eq!(figures.unwrap().runs.len(), 2);
    }
}

#[test]
fn think_time_limits_the_rate() {
    let folder = tempfile::tempdir().unwrap();
    let think_time = std::time::Duration::from_millis(200);
    let figures = perform(&Options { think_time, runs: 1, ..small() }, &sqlite(folder.path())).unwrap();
    // Six browsers that think 0.2 s request at most 30 pages a second on average, and chance may double that.
    let run = &figures.runs[0];
    assert!((run.interactions() as f64) < 60.0 * (run.time.as_secs_f64() / 0.4).max(1.0), "{figures}");
}

/// An error of a database, once.
#[derive(Clone, Copy)]
enum Flaw {
    /// A change of a book's stock gets lost, as if another transaction had overwritten it.
    LosesUpdate,
    /// A line of an order gets the number of another book.
    OrdersAnotherBook,
}

/// SQLite with an error.
struct Flawed {
    database: Sqlite,
    flaw: Flaw,
    /// Statements so far that the error may hit.
    changes: AtomicU64,
}

struct FlawedSession<'a> {
    session: Box<dyn Session + 'a>,
    flaw: Flaw,
    changes: &'a AtomicU64,
}

impl Database for Flawed {
    fn name(&self) -> String {
        self.database.name()
    }

    fn connect(&self) -> Result<Box<dyn Session + '_>, Failure> {
        let session = self.database.connect()?;
        Ok(Box::new(FlawedSession { session, flaw: self.flaw, changes: &self.changes }))
    }
}

impl FlawedSession<'_> {
    /// Whether the error hits this statement: the tenth of its kind.
    fn hits(&self, flaw: Flaw, statement: &str) -> bool {
        let begin = match flaw {
            Flaw::LosesUpdate => "UPDATE item SET i_stock = i_stock - ",
            Flaw::OrdersAnotherBook => "INSERT INTO order_line ",
        };
        std::mem::discriminant(&flaw) == std::mem::discriminant(&self.flaw)
            && statement.starts_with(begin)
            && self.changes.fetch_add(1, Ordering::Relaxed) == 9
    }
}

impl Session for FlawedSession<'_> {
    fn begin(&mut self, access: Access) -> Result<(), Failure> {
        self.session.begin(access)
    }

    fn query(&mut self, statement: &'static str, parameters: &[Value]) -> Result<Vec<Row>, Failure> {
        let mut parameters = parameters.to_vec();
        if self.hits(Flaw::OrdersAnotherBook, statement) {
            // A number from 1 to 1000.
            let Value::Int(book) = &mut parameters[2] else { panic!("{parameters:?}") };
            *book = 1001 - *book;
        }
        let parameters = &parameters[..];
        let rows = self.session.query(statement, parameters)?;
        if self.hits(Flaw::LosesUpdate, statement) {
            self.session.query(
                "UPDATE item SET i_stock = i_stock + $1 WHERE i_id = $2 RETURNING i_stock",
                parameters,
            )?;
        }
        Ok(rows)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.session.commit()
    }

    fn roll_back(&mut self) {
        self.session.roll_back();
    }

    fn run_script(&mut self, script: &str) -> Result<(), Failure> {
        self.session.run_script(script)
    }

    fn load(&mut self, table: &Table, rows: &mut dyn Iterator<Item = Vec<Value>>) -> Result<(), Failure> {
        self.session.load(table, rows)
    }
}

fn error_of(flaw: Flaw) -> String {
    let folder = tempfile::tempdir().unwrap();
    let database = Flawed { database: sqlite(folder.path()), flaw, changes: AtomicU64::new(0) };
    // The slower the machine, the more runs it takes to the tenth statement.
    let options = Options { runs: 1000, ..small() };
    perform(&options, &database).unwrap_err().to_string()
}

#[test]
fn one_lost_update_fails_the_run() {
    let error = error_of(Flaw::LosesUpdate);
    let said = "the stock of 1 books does not fit their order lines (updates were lost): book ";
    assert!(error.contains(&format!(": the database is not consistent: {said}")), "{error}");
}

#[test]
fn order_of_another_book_fails_the_run() {
    let error = error_of(Flaw::OrdersAnotherBook);
    assert!(error.contains("the order lines of 2 books are wrong: book "), "{error}");
    assert!(error.contains("the stock of 2 books does not fit their order lines"), "{error}");
}

/// Each of these changes between two runs breaks one rule.
#[test]
fn inconsistent_tables_fail_the_run() {
    let folder = tempfile::tempdir().unwrap();
    for (change, violation) in [
        ("DELETE FROM order_line WHERE ol_o_id = 5", "1 orders have no lines"),
        ("DELETE FROM orders WHERE o_id = 6", "order lines have no order"),
        (
            "UPDATE cc_xacts SET cx_xact_amt = cx_xact_amt + 1 WHERE cx_o_id = 7",
            "1 orders have no payment of the same amount",
        ),
        (
            "UPDATE orders SET o_tax = o_tax + 1, o_total = o_total + 1 WHERE o_id = 8",
            "1 orders have a wrong tax",
        ),
        ("UPDATE orders SET o_sub_total = o_sub_total + 100 WHERE o_id = 9", "1 orders have a wrong total"),
        ("UPDATE customer SET c_addr_id = -1 WHERE c_id = 10", "1 customers have no address"),
        ("UPDATE item SET i_a_id = -1 WHERE i_id = 13", "1 books have no author"),
        ("UPDATE item SET i_related3 = -1 WHERE i_id = 14", "1 books are related to no book"),
        ("UPDATE address SET addr_co_id = -1 WHERE addr_id = 15", "1 addresses have no country"),
        ("UPDATE cc_xacts SET cx_co_id = -1 WHERE cx_o_id = 16", "1 payments have no country"),
        (
            "UPDATE orders SET o_ship_addr_id = -1 WHERE o_id = 11",
            "1 orders are sent or billed to no address",
        ),
        ("INSERT INTO shopping_cart_line VALUES (-1, 1, 1, 1)", "1 lines of carts have no cart"),
        ("UPDATE order_line SET ol_i_id = -1 WHERE ol_o_id = 12 AND ol_id = 1", "1 order lines have no book"),
    ] {
        let folder = tempfile::tempdir_in(folder.path()).unwrap();
        let database = sqlite(folder.path());
        let options = Options { mix: Mix::Browsing, browsers: 1, connections: Some(1), runs: 1, ..small() };
        let mut changed = false;
        let outcome = run(&options, &database, &AtomicBool::new(false), &mut |event| {
            if let (Event::Checking(1), false) = (event, changed) {
                changed = true;
                database.connect().unwrap().run_script(change).unwrap();
            }
        });
        let error = outcome.expect_err(change).to_string();
        assert!(error.contains(violation), "{change}: {error}");
    }
}

#[test]
fn population_is_reused_and_must_fit() {
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(folder.path());
    let options = Options { runs: 1, ..small() };
    perform(&options, &database).unwrap();
    let mut is_populated = false;
    let reused = Options { items: None, scale: None, ..options.clone() };
    run(&reused, &database, &AtomicBool::new(false), &mut |event| {
        is_populated |= matches!(event, Event::Populating(_));
    })
    .unwrap();
    assert!(!is_populated);
    let error = perform(&Options { items: Some(10_000), ..options }, &database).unwrap_err();
    assert!(matches!(error, Error::Option(_)), "{error}");
    assert_eq!(
        error.to_string(),
        "--items 10000: the database was populated with --items 1000: leave the option out, or name another database"
    );
}

#[test]
fn interrupted_population_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(folder.path());
    let stop = AtomicBool::new(false);
    let outcome = run(&small(), &database, &stop, &mut |event| {
        if let Event::Populating(populated) = event {
            stop.store(populated.done > 2000, Ordering::Relaxed);
        }
    });
    assert!(matches!(outcome, Err(Error::Interrupted)), "{outcome:?}");
    let error = perform(&small(), &database).unwrap_err().to_string();
    assert!(error.contains("its population is not complete"), "{error}");
}

#[test]
fn file_that_is_no_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("shop.db"),
        "not a database, but a text of more than some bytes".repeat(50),
    )
    .unwrap();
    let error = perform(&small(), &sqlite(folder.path())).unwrap_err().to_string();
    assert!(error.contains("shop.db: file is not a database"), "{error}");
    let error = perform(&small(), &sqlite(&folder.path().join("missing"))).unwrap_err().to_string();
    assert!(error.contains("unable to open database file"), "{error}");
}
