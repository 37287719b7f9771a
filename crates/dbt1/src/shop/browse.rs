//! The interactions that browse.

use super::{Shop, Visitor, only};
use crate::database::{Access, Failure, Session, read, transact};
use crate::population::SUBJECTS;
use crate::random::syllables;
use crate::value::Row;
use crate::values;

/// Books on a page (clauses 2.5 and 2.11).
macro_rules! page {
    ($statement:literal) => {
        concat!(
            "SELECT i_id, i_title, a_fname, a_lname FROM item JOIN author ON a_id = i_a_id ",
            $statement,
            " LIMIT 50"
        )
    };
}

const NEW_PRODUCTS: &str = page!("WHERE i_subject = $1 ORDER BY i_pub_date DESC, i_title");
const BY_AUTHOR: &str = page!("WHERE a_lname LIKE $1 || '%' ORDER BY i_title");
const BY_TITLE: &str = page!("WHERE i_title LIKE '%' || $1 || '%' ORDER BY i_title");
const BY_SUBJECT: &str = page!("WHERE i_subject = $1 ORDER BY i_title");

/// Among the 3333 latest orders (clause 2.6.3).
const BEST_SELLERS: &str = "\
    SELECT i_id, i_title, a_fname, a_lname FROM order_line \
    JOIN item ON i_id = ol_i_id JOIN author ON a_id = i_a_id \
    WHERE ol_o_id > (SELECT MAX(o_id) FROM orders) - 3333 AND i_subject = $1 \
    GROUP BY i_id, i_title, a_fname, a_lname ORDER BY SUM(ol_qty) DESC, i_id LIMIT 50";

const PRODUCT: &str = "\
    SELECT i_title, a_fname, a_lname, i_pub_date, i_publisher, i_subject, i_desc, i_image, i_cost, i_srp, i_avail, i_isbn, \
    i_page, i_backing, i_dimensions FROM item JOIN author ON a_id = i_a_id WHERE i_id = $1";

impl Visitor {
    pub(super) fn home(&mut self, shop: &Shop, session: &mut dyn Session) -> Result<(), Failure> {
        let (customer, item) = (self.customer, self.any_item(shop));
        self.links = transact(session, Access::Read, &mut self.conflicts, |session| {
            if let Some(customer) = customer {
                let statement = "SELECT c_fname, c_lname FROM customer WHERE c_id = $1";
                only(session.query(statement, &values![customer])?, "the customer")?;
            }
            promotions(session, item)
        })?;
        Ok(())
    }

    pub(super) fn new_products(&mut self, session: &mut dyn Session) -> Result<(), Failure> {
        let subject = self.random.one_of(&SUBJECTS);
        self.list(session, NEW_PRODUCTS, subject)
    }

    pub(super) fn best_sellers(&mut self, session: &mut dyn Session) -> Result<(), Failure> {
        let subject = self.random.one_of(&SUBJECTS);
        self.list(session, BEST_SELLERS, subject)
    }

    /// A page that lists books.
    fn list(
        &mut self,
        session: &mut dyn Session,
        statement: &'static str,
        text: &str,
    ) -> Result<(), Failure> {
        let books = read(session, &mut self.conflicts, statement, &values![text])?;
        self.links = numbers(&books);
        Ok(())
    }

    /// Of a book to which the last page links.
    pub(super) fn product_detail(&mut self, shop: &Shop, session: &mut dyn Session) -> Result<(), Failure> {
        let item = match self.links.is_empty() {
            true => self.any_item(shop),
            false => self.random.one_of(&self.links),
        };
        only(read(session, &mut self.conflicts, PRODUCT, &values![item])?, "the book")?;
        self.item = item;
        Ok(())
    }

    pub(super) fn search_request(&mut self, shop: &Shop, session: &mut dyn Session) -> Result<(), Failure> {
        let item = self.any_item(shop);
        self.links =
            transact(session, Access::Read, &mut self.conflicts, |session| promotions(session, item))?;
        Ok(())
    }

    /// By author, title or subject (clause 2.10.5.1).
    pub(super) fn search_results(&mut self, shop: &Shop, session: &mut dyn Session) -> Result<(), Failure> {
        let (a, items) = (shop.scale.item_spread(), shop.scale.items);
        match self.random.index(3) {
            0 => {
                let author = syllables(self.random.non_uniform(a, 1, items / 10), 7);
                self.list(session, BY_AUTHOR, &author)
            }
            1 => {
                let title = syllables(self.random.non_uniform(a, 1, items / 5), 7);
                self.list(session, BY_TITLE, &title)
            }
            _ => {
                let subject = self.random.one_of(&SUBJECTS);
                self.list(session, BY_SUBJECT, subject)
            }
        }
    }
}

/// The five books that the shop offers beside a book (clause 2.3.3.1).
pub(super) fn promotions(session: &mut dyn Session, item: i64) -> Result<Vec<i64>, Failure> {
    const RELATED: &str =
        "SELECT i_related1, i_related2, i_related3, i_related4, i_related5 FROM item WHERE i_id = $1";
    const THUMBNAILS: &str = "SELECT i_id, i_thumbnail FROM item WHERE i_id IN ($1, $2, $3, $4, $5)";
    let related = only(session.query(RELATED, &values![item])?, "a book")?;
    let books = session.query(THUMBNAILS, &related.0)?;
    match books.len() {
        5 => Ok(numbers(&books)),
        count => Err(Failure::Wrong(format!("book {item} has {count} related books, not 5"))),
    }
}

fn numbers(books: &[Row]) -> Vec<i64> {
    books.iter().map(|book| book.int(0)).collect()
}
