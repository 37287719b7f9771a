//! The shop: what each interaction does to the database (clause 2). Each is one transaction.

mod admin;
mod browse;
mod buy;
mod cart;
mod customer;
mod orders;

use crate::database::{Failure, Session};
use crate::interaction::Interaction;
use crate::ledger::Ledger;
use crate::population::Scale;
use crate::random::{Random, syllables};
use crate::value::Row;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// What all visitors share.
#[derive(Debug)]
pub struct Shop {
    /// The population.
    pub scale: Scale,
    customers: Numbers,
    addresses: Numbers,
    orders: Numbers,
    carts: Numbers,
}

/// The numbers of new rows.
#[derive(Debug)]
struct Numbers(AtomicI64);

impl Numbers {
    fn next(&self) -> i64 {
        // Relaxed: all that matters is that each number is drawn once.
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Shop {
    /// The shop on a populated database. New rows get numbers above those that are there.
    pub fn open(session: &mut dyn Session, scale: Scale) -> Result<Shop, Failure> {
        let mut greatest = |statement| {
            let rows = session.query(statement, &[])?;
            Ok(Numbers(AtomicI64::new(only(rows, "a greatest number")?.int(0))))
        };
        Ok(Shop {
            scale,
            customers: greatest("SELECT COALESCE(MAX(c_id), 0) FROM customer")?,
            addresses: greatest("SELECT COALESCE(MAX(addr_id), 0) FROM address")?,
            orders: greatest("SELECT COALESCE(MAX(o_id), 0) FROM orders")?,
            carts: greatest("SELECT COALESCE(MAX(sc_id), 0) FROM shopping_cart")?,
        })
    }
}

/// A visitor of the shop, during one user session.
#[derive(Debug)]
pub struct Visitor {
    random: Random,
    /// The customer, if the shop knows it.
    customer: Option<i64>,
    cart: Option<i64>,
    /// The books that the last page links to.
    links: Vec<i64>,
    /// The book whose page was seen last.
    item: i64,
    /// The interaction before this one.
    last: Interaction,
    /// What was done, by our own account.
    pub ledger: Ledger,
    /// Transactions that had to be tried again.
    pub conflicts: u64,
}

/// Per cent of the user sessions whose customer the shop knows (clause 2.3.2).
const RETURNING: i64 = 80;

impl Visitor {
    /// A visitor that has not begun.
    pub fn new(random: Random) -> Visitor {
        Visitor {
            random,
            customer: None,
            cart: None,
            links: Vec::new(),
            item: 1,
            last: Interaction::Home,
            ledger: Ledger::default(),
            conflicts: 0,
        }
    }

    /// Begins a new user session.
    pub fn enter(&mut self, shop: &Shop) {
        self.customer = self.random.happens(RETURNING).then(|| self.any_customer(shop));
        self.cart = None;
        self.links.clear();
        self.last = Interaction::Home;
    }

    /// Requests a page.
    pub fn perform(
        &mut self,
        shop: &Shop,
        session: &mut dyn Session,
        interaction: Interaction,
    ) -> Result<(), Failure> {
        match interaction {
            Interaction::Home => self.home(shop, session),
            Interaction::NewProducts => self.new_products(session),
            Interaction::BestSellers => self.best_sellers(session),
            Interaction::ProductDetail => self.product_detail(shop, session),
            Interaction::SearchRequest => self.search_request(shop, session),
            Interaction::SearchResults => self.search_results(shop, session),
            Interaction::ShoppingCart => self.shopping_cart(shop, session),
            Interaction::CustomerRegistration => self.customer_registration(session),
            Interaction::BuyRequest => self.buy_request(shop, session),
            Interaction::BuyConfirm => self.buy_confirm(shop, session),
            Interaction::OrderInquiry => self.order_inquiry(shop, session),
            Interaction::OrderDisplay => self.order_display(shop, session),
            Interaction::AdminRequest => self.admin_request(session),
            Interaction::AdminConfirm => self.admin_confirm(shop, session),
        }?;
        self.last = interaction;
        Ok(())
    }

    fn any_customer(&mut self, shop: &Shop) -> i64 {
        self.random.non_uniform(shop.scale.customer_spread(), 1, shop.scale.customers())
    }

    fn any_item(&mut self, shop: &Shop) -> i64 {
        self.random.between(1, shop.scale.items)
    }

    /// The customer of this user session; one of the population if the shop knows none.
    fn some_customer(&mut self, shop: &Shop) -> i64 {
        self.customer.unwrap_or_else(|| self.any_customer(shop))
    }
}

/// A customer's name in the shop.
fn user_name(customer: i64) -> String {
    syllables(customer, 0)
}

/// Seconds since 1970.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() as i64)
}

/// The only row of a result.
fn only(mut rows: Vec<Row>, what: &str) -> Result<Row, Failure> {
    match (rows.pop(), rows.len()) {
        (Some(row), 0) => Ok(row),
        (None, _) => Err(Failure::Wrong(format!("{what} is not there"))),
        (Some(_), more) => Err(Failure::Wrong(format!("{what} is there {} times", more + 1))),
    }
}
