//! Admin Request and Admin Confirm: a book is changed (clauses 2.15 and 2.16).

use super::{Shop, Visitor, now, only};
use crate::database::{Access, Failure, Session, read, transact};
use crate::value::Value;
use crate::values;

const BOOK: &str = "\
    SELECT i_related1, i_related2, i_related3, i_related4, i_related5, i_title, i_cost, i_image, i_thumbnail, a_fname, a_lname \
    FROM item JOIN author ON a_id = i_a_id WHERE i_id = $1";

/// The five other books that customers bought most who bought this book in one of the 10,000 latest orders (clause 2.16.3.3).
const BOUGHT_TOO: &str = "\
    SELECT ol_i_id FROM orders JOIN order_line ON ol_o_id = o_id WHERE o_c_id IN \
    (SELECT o_c_id FROM order_line JOIN orders ON o_id = ol_o_id \
    WHERE ol_i_id = $1 AND ol_o_id > (SELECT MAX(o_id) FROM orders) - 10000) \
    AND ol_i_id <> $1 GROUP BY ol_i_id ORDER BY SUM(ol_qty) DESC, ol_i_id LIMIT 5";

const CHANGE: &str = "\
    UPDATE item SET i_cost = $1, i_image = $2, i_thumbnail = $3, i_pub_date = $4, i_related1 = $5, i_related2 = $6, \
    i_related3 = $7, i_related4 = $8, i_related5 = $9 WHERE i_id = $10";

impl Visitor {
    pub(super) fn admin_request(&mut self, session: &mut dyn Session) -> Result<(), Failure> {
        let item = self.item;
        only(read(session, &mut self.conflicts, BOOK, &values![item])?, "the book")?;
        Ok(())
    }

    pub(super) fn admin_confirm(&mut self, shop: &Shop, session: &mut dyn Session) -> Result<(), Failure> {
        let item = self.item;
        let cost = self.random.between(100, 999_999);
        let (image, thumbnail) = (self.any_item(shop), self.any_item(shop));
        transact(session, Access::Write, &mut self.conflicts, |session| {
            let book = only(session.query(BOOK, &values![item])?, "the book")?;
            let bought = session.query(BOUGHT_TOO, &values![item])?;
            let related =
                choose_related(bought.iter().map(|row| row.int(0)), (0..5).map(|index| book.int(index)));
            let mut row: Vec<Value> = values![cost, image, thumbnail, now() / 86_400].into();
            row.extend(related.into_iter().map(Value::Int));
            row.push(Value::Int(item));
            session.execute(CHANGE, &row)
        })
    }
}

/// Five different books: those that were bought, then those that were related so far.
fn choose_related(bought: impl Iterator<Item = i64>, so_far: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut books = Vec::new();
    for book in bought.chain(so_far) {
        if books.len() < 5 && !books.contains(&book) {
            books.push(book);
        }
    }
    books
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn related_books_are_five_different_ones() {
        assert_eq!(choose_related([7, 3].into_iter(), [1, 3, 7, 8, 9].into_iter()), [7, 3, 1, 8, 9]);
        assert_eq!(choose_related(11..16, 1..6), [11, 12, 13, 14, 15]);
    }
}
