//! The initial contents of the tables: clauses 4.3 (how many rows) and 4.7.1 (what is in them).
//!
//! Each row depends only on the seed, its table and its number, so the same scale and seed always give the same database.

mod countries;
mod rows;

pub use rows::{address_columns, new_customer};

use crate::database::{Database, Failure, Session};
use crate::random::Random;
use crate::schema::{self, POPULATION, TABLES, Table};
use crate::values;
use std::sync::atomic::{AtomicBool, Ordering};

/// Midnight of 31 October 2002, UTC: the moment of the population, in seconds since 1970. A fixed one, so that equal seeds give
/// equal databases.
pub const MOMENT: i64 = 1_036_022_400;
/// Midnight of that moment, in days since 1970.
pub const DAY: i64 = MOMENT / 86_400;

/// The subjects of books (clause 4.7.1).
pub const SUBJECTS: [&str; 24] = [
    "ARTS",
    "BIOGRAPHIES",
    "BUSINESS",
    "CHILDREN",
    "COMPUTERS",
    "COOKING",
    "HEALTH",
    "HISTORY",
    "HOME",
    "HUMOR",
    "LITERATURE",
    "MYSTERY",
    "NON-FICTION",
    "PARENTING",
    "POLITICS",
    "REFERENCE",
    "RELIGION",
    "ROMANCE",
    "SELF-HELP",
    "SCIENCE-NATURE",
    "SCIENCE-FICTION",
    "SPORTS",
    "YOUTH",
    "TRAVEL",
];
/// Kinds of credit cards.
pub const CARDS: [&str; 5] = ["VISA", "MASTERCARD", "DISCOVER", "AMEX", "DINERS"];
/// Ways of shipping.
pub const SHIPPING: [&str; 6] = ["AIR", "UPS", "FEDEX", "SHIP", "COURIER", "MAIL"];

/// The scale of a population.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    /// NUM_ITEMS: number of books.
    pub items: i64,
    /// NUM_EBS: emulated browsers for which the population is made; 2880 customers for each.
    pub browsers: i64,
    /// Seed of the random contents.
    pub seed: u64,
}

impl Scale {
    /// The numbers of books that the specification permits (clause 4.3.1).
    pub const ITEMS: [i64; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

    /// Number of customers.
    pub fn customers(&self) -> i64 {
        2880 * self.browsers
    }

    /// Number of addresses.
    pub fn addresses(&self) -> i64 {
        2 * self.customers()
    }

    /// Number of orders, and of payments.
    pub fn orders(&self) -> i64 {
        self.customers() * 9 / 10
    }

    /// Number of authors.
    pub fn authors(&self) -> i64 {
        self.items / 4
    }

    /// Number of countries.
    pub fn countries(&self) -> i64 {
        countries::COUNTRIES.len() as i64
    }

    /// Lines of an order, 1 to 5: 3 on average.
    pub fn lines_of(&self, order: i64) -> i64 {
        Random::new(self.seed, stream(9, order)).between(1, 5)
    }

    /// The A of NURand for customers (clause 2.3.2).
    pub fn customer_spread(&self) -> i64 {
        // A is 1023 for up to 9999 customers. It is four times as large for each four times as many customers.
        let (mut greatest, mut a) = (10_000, 1023);
        while self.customers() >= greatest {
            greatest *= 4;
            a = 4 * a + 3;
        }
        a
    }

    /// The A of NURand for search texts (clause 2.10.5.1).
    pub fn item_spread(&self) -> i64 {
        match self.items {
            ..10_000 => 63,
            10_000..100_000 => 511,
            100_000..1_000_000 => 4095,
            1_000_000..10_000_000 => 32_767,
            _ => 524_287,
        }
    }

    /// The number of rows that a table is populated for; order_line has one for each order here, which yields all its lines.
    fn units(&self, table: &Table) -> i64 {
        match table.name {
            "country" => self.countries(),
            "author" => self.authors(),
            "item" => self.items,
            "address" => self.addresses(),
            "customer" => self.customers(),
            _ => self.orders(),
        }
    }
}

/// The stream of random numbers for a row.
fn stream(table: u64, row: i64) -> u64 {
    table << 48 | row as u64
}

/// How far a population is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Populated {
    /// Rows that have been made.
    pub done: i64,
    /// Rows in all.
    pub total: i64,
}

/// The population in the database; none if it has no table of ours.
pub fn existing(database: &dyn Database) -> Result<Option<Scale>, Failure> {
    let mut session = database.connect()?;
    let Ok(rows) = session.query("SELECT p_name, p_value FROM population ORDER BY p_name", &[]) else {
        return Ok(None);
    };
    let value = |name: &str| rows.iter().find(|row| row.text(0) == name).map(|row| row.int(1));
    match (value("items"), value("browsers"), value("seed")) {
        (Some(items), Some(browsers), Some(seed)) => Ok(Some(Scale { items, browsers, seed: seed as u64 })),
        _ => Err(Failure::Wrong("its population is not complete".into())),
    }
}

/// Makes all tables and fills them. Returns false if `stop` was set meanwhile; then the population is not complete.
pub fn populate(
    database: &dyn Database,
    scale: Scale,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Populated),
) -> Result<bool, Failure> {
    let mut session = database.connect()?;
    session.run_script(&schema::create_tables())?;
    let total = TABLES.iter().map(|table| scale.units(table)).sum();
    let mut done = 0;
    for table in &TABLES {
        fill(&mut *session, scale, table, stop, &mut |count| {
            done += count;
            progress(Populated { done, total });
        })?;
    }
    // Relaxed: the flag guards no other data.
    if stop.load(Ordering::Relaxed) {
        return Ok(false);
    }
    session.run_script(schema::INDEXES)?;
    // Written last: a population without these rows is not complete.
    let facts = [("items", scale.items), ("browsers", scale.browsers), ("seed", scale.seed as i64)];
    session.load(&POPULATION, &mut facts.into_iter().map(|(name, value)| values![name, value].into()))?;
    Ok(true)
}

/// Rows between two calls that report progress.
const REPORTED: i64 = 1000;

fn fill(
    session: &mut dyn Session,
    scale: Scale,
    table: &Table,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(i64),
) -> Result<(), Failure> {
    let units = scale.units(table);
    // Relaxed: the flag guards no other data.
    let numbers = (1..=units).take_while(|_| !stop.load(Ordering::Relaxed));
    let numbers = numbers.inspect(|number| {
        if number % REPORTED == 0 || *number == units {
            progress((number - 1) % REPORTED + 1);
        }
    });
    let mut rows = numbers.flat_map(|number| rows::rows_of(&scale, table, number));
    session.load(table, &mut rows)
}
