//! Whether the tables agree with each other, and with what the browsers did.

use crate::database::{Failure, Session};
use crate::ledger::{BookLedger, Ledger};
use crate::money;
use crate::value::Row;
use std::collections::HashMap;

/// Counts before or after a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    orders: i64,
    lines: i64,
    books: i64,
    revenue: i64,
    customers: i64,
    addresses: i64,
    /// In the order of the numbers.
    each_book: Vec<Book>,
}

/// What the tables say of a book.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Book {
    item: i64,
    stock: i64,
    /// How many all order lines have together.
    ordered: i64,
}

/// Rules that hold for every row. Each statement counts the exceptions.
const RULES: [(&str, &str); 14] = [
    (
        "orders have no lines",
        "SELECT COUNT(*) FROM orders WHERE NOT EXISTS (SELECT 1 FROM order_line WHERE ol_o_id = o_id)",
    ),
    (
        "order lines have no order",
        "SELECT COUNT(*) FROM order_line WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_id = ol_o_id)",
    ),
    (
        "order lines have no book",
        "SELECT COUNT(*) FROM order_line WHERE NOT EXISTS (SELECT 1 FROM item WHERE i_id = ol_i_id)",
    ),
    (
        "orders have no payment of the same amount",
        "SELECT COUNT(*) FROM orders WHERE NOT EXISTS \
         (SELECT 1 FROM cc_xacts WHERE cx_o_id = o_id AND cx_xact_amt = o_total)",
    ),
    (
        "payments have no order",
        "SELECT COUNT(*) FROM cc_xacts WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_id = cx_o_id)",
    ),
    (
        "orders have no customer",
        "SELECT COUNT(*) FROM orders WHERE NOT EXISTS (SELECT 1 FROM customer WHERE c_id = o_c_id)",
    ),
    (
        "customers have no address",
        "SELECT COUNT(*) FROM customer WHERE NOT EXISTS (SELECT 1 FROM address WHERE addr_id = c_addr_id)",
    ),
    (
        "orders are sent or billed to no address",
        "SELECT COUNT(*) FROM orders WHERE NOT EXISTS (SELECT 1 FROM address WHERE addr_id = o_ship_addr_id) \
         OR NOT EXISTS (SELECT 1 FROM address WHERE addr_id = o_bill_addr_id)",
    ),
    (
        "lines of carts have no cart, no book or no quantity",
        "SELECT COUNT(*) FROM shopping_cart_line WHERE scl_qty < 1 \
         OR NOT EXISTS (SELECT 1 FROM shopping_cart WHERE sc_id = scl_sc_id) \
         OR NOT EXISTS (SELECT 1 FROM item WHERE i_id = scl_i_id)",
    ),
    (
        "books have no author",
        "SELECT COUNT(*) FROM item WHERE NOT EXISTS (SELECT 1 FROM author WHERE a_id = i_a_id)",
    ),
    (
        "books are related to no book",
        "SELECT COUNT(*) FROM item AS book WHERE \
         (SELECT COUNT(*) FROM item WHERE i_id IN (book.i_related1, book.i_related2, book.i_related3, book.i_related4, \
         book.i_related5)) < 5",
    ),
    (
        "addresses have no country",
        "SELECT COUNT(*) FROM address WHERE NOT EXISTS (SELECT 1 FROM country WHERE co_id = addr_co_id)",
    ),
    (
        "payments have no country",
        "SELECT COUNT(*) FROM cc_xacts WHERE NOT EXISTS (SELECT 1 FROM country WHERE co_id = cx_co_id)",
    ),
    (
        "orders have a wrong tax",
        "SELECT COUNT(*) FROM orders WHERE o_tax <> (o_sub_total * 825 + 5000) / 10000",
    ),
];

/// Orders of the population count a book for each line, others count their books.
const TOTALS: &str = "\
    SELECT COUNT(*) FROM orders JOIN (SELECT ol_o_id, COUNT(*) AS line_count, SUM(ol_qty) AS book_count FROM order_line GROUP BY ol_o_id) \
    AS counted ON ol_o_id = o_id WHERE o_total <> o_sub_total + o_tax + CAST($1 AS BIGINT) + CAST($2 AS BIGINT) * \
    CASE WHEN o_id <= CAST($3 AS BIGINT) THEN line_count ELSE book_count END";

impl Counts {
    /// Counts the rows.
    pub fn read(session: &mut dyn Session) -> Result<Counts, Failure> {
        let mut number = |statement| -> Result<i64, Failure> { Ok(session.query(statement, &[])?[0].int(0)) };
        let counts = Counts {
            orders: number("SELECT COUNT(*) FROM orders")?,
            lines: number("SELECT COUNT(*) FROM order_line")?,
            books: number("SELECT CAST(SUM(ol_qty) AS BIGINT) FROM order_line")?,
            revenue: number("SELECT CAST(SUM(o_total) AS BIGINT) FROM orders")?,
            customers: number("SELECT COUNT(*) FROM customer")?,
            addresses: number("SELECT COUNT(*) FROM address")?,
            each_book: Vec::new(),
        };
        const ORDERED: &str = "SELECT ol_i_id, CAST(SUM(ol_qty) AS BIGINT) FROM order_line GROUP BY ol_i_id";
        let ordered = session.query(ORDERED, &[])?;
        let ordered: HashMap<i64, i64> = ordered.iter().map(|row| (row.int(0), row.int(1))).collect();
        let stock = session.query("SELECT i_id, i_stock FROM item ORDER BY i_id", &[])?;
        let book = |row: &Row| {
            let item = row.int(0);
            Book { item, stock: row.int(1), ordered: ordered.get(&item).copied().unwrap_or_default() }
        };
        Ok(Counts { each_book: stock.iter().map(book).collect(), ..counts })
    }

    /// What is wrong with these counts, if a run began with `before` and did what the ledger says.
    fn violations(&self, before: &Counts, ledger: &Ledger) -> Vec<String> {
        let compared = [
            ("orders", self.orders - before.orders, ledger.orders),
            ("order lines", self.lines - before.lines, ledger.lines),
            ("books in orders", self.books - before.books, ledger.books),
            ("cents in orders", self.revenue - before.revenue, ledger.revenue),
            ("customers", self.customers - before.customers, ledger.customers),
            ("addresses", self.addresses - before.addresses, ledger.addresses),
        ];
        let different = compared.into_iter().filter(|(_, stored, done)| stored != done);
        let mut violations: Vec<String> = different
            .map(|(what, stored, done)| format!("{stored} {what} were stored, the browsers made {done}"))
            .collect();
        violations.extend(self.violations_of_books(before, ledger));
        violations
    }

    /// The order lines of each book against what the browsers ordered, and its stock against its order lines.
    fn violations_of_books(&self, before: &Counts, ledger: &Ledger) -> Vec<String> {
        let (now, before) = (&self.each_book, &before.each_book);
        if now.len() != before.len() {
            return vec![format!("there are {} books, not {}", now.len(), before.len())];
        }
        let (mut stocks, mut lines) = (Vec::new(), Vec::new());
        for (now, before) in now.iter().zip(before) {
            let BookLedger { ordered, restocked } =
                ledger.of_book.get(&now.item).copied().unwrap_or_default();
            let stored = now.ordered - before.ordered;
            let stock = before.stock - stored + restocked;
            if now.stock != stock {
                stocks.push(format!("book {} has {}, not {stock}", now.item, now.stock));
            }
            if stored != ordered {
                lines.push(format!("book {} was ordered {ordered} times, and {stored} are stored", now.item));
            }
        }
        let wrong = [
            (stocks, "the stock of", "does not fit their order lines (updates were lost)"),
            (lines, "the order lines of", "are wrong"),
        ];
        let named = wrong.iter().filter_map(|(books, what, how)| {
            Some(format!("{what} {} books {how}: {}", books.len(), books.first()?))
        });
        named.collect()
    }
}

/// Checks the tables after a run. Returns the counts, and what is wrong. `populated` is the greatest order of the population.
pub fn check(
    session: &mut dyn Session,
    before: &Counts,
    ledger: &Ledger,
    populated: i64,
) -> Result<(Counts, Vec<String>), Failure> {
    let counts = Counts::read(session)?;
    let mut violations = counts.violations(before, ledger);
    for (exception, statement) in RULES {
        add_exceptions(&mut violations, exception, session.query(statement, &[])?[0].int(0));
    }
    let amounts = crate::values![money::SHIPPING, money::SHIPPING_EACH, populated];
    let totals = session.query(TOTALS, &amounts)?;
    add_exceptions(&mut violations, "orders have a wrong total", totals[0].int(0));
    Ok((counts, violations))
}

fn add_exceptions(violations: &mut Vec<String>, exception: &str, count: i64) {
    if count != 0 {
        violations.push(format!("{count} {exception}"));
    }
}
