//! What the browsers did to the database, by their own account. The integrity checks compare it with the tables.

use std::collections::HashMap;

/// Counts of the transactions that have been committed.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Ledger {
    /// Orders that were confirmed.
    pub orders: i64,
    /// Their lines.
    pub lines: i64,
    /// The books in them.
    pub books: i64,
    /// What the customers pay for them, in cents.
    pub revenue: i64,
    /// Customers that were registered.
    pub customers: i64,
    /// Addresses that were added.
    pub addresses: i64,
    /// How many were ordered of each book, and how many restocked.
    pub of_book: HashMap<i64, BookLedger>,
}

/// Counts for one book.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct BookLedger {
    /// How many were ordered.
    pub ordered: i64,
    /// How many were added to the stock.
    pub restocked: i64,
}

impl Ledger {
    /// Adds the counts of another one.
    pub fn merge(&mut self, other: &Ledger) {
        self.orders += other.orders;
        self.lines += other.lines;
        self.books += other.books;
        self.revenue += other.revenue;
        self.customers += other.customers;
        self.addresses += other.addresses;
        for (&item, more) in &other.of_book {
            let book = self.of_book.entry(item).or_default();
            book.ordered += more.ordered;
            book.restocked += more.restocked;
        }
    }
}
