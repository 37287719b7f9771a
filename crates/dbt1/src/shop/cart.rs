//! The shopping cart (clause 2.4).

use super::browse::promotions;
use super::{Shop, Visitor, now};
use crate::database::{Access, Failure, Session, transact};
use crate::interaction::Interaction;
use crate::random::Random;
use crate::value::Row;
use crate::values;

/// What a visitor does with its cart.
#[derive(Clone, Debug)]
enum Action {
    Show,
    /// Adds a book.
    Add(i64),
    /// Changes quantities, by these random numbers: the same ones if the transaction is tried again.
    Refresh(Random),
}

impl Visitor {
    pub(super) fn shopping_cart(&mut self, shop: &Shop, session: &mut dyn Session) -> Result<(), Failure> {
        let action = match self.last {
            Interaction::ProductDetail => Action::Add(self.item),
            Interaction::ShoppingCart => Action::Refresh(self.random.split()),
            _ => Action::Show,
        };
        let (is_new, cart) = match self.cart {
            Some(cart) => (false, cart),
            None => (true, shop.carts.next()),
        };
        let (item, offered) = (self.any_item(shop), self.any_item(shop));
        self.links = transact(session, Access::Write, &mut self.conflicts, |session| {
            match is_new {
                true => session.execute("INSERT INTO shopping_cart VALUES ($1, $2)", &values![cart, now()]),
                false => session
                    .execute("UPDATE shopping_cart SET sc_time = $1 WHERE sc_id = $2", &values![now(), cart]),
            }?;
            match action.clone() {
                Action::Show => {}
                Action::Add(item) => add(session, cart, item)?,
                Action::Refresh(mut random) => refresh(session, cart, &mut random)?,
            }
            if lines(session, cart)?.is_empty() {
                add(session, cart, item)?;
            }
            show(session, cart)?;
            promotions(session, offered)
        })?;
        self.cart = Some(cart);
        Ok(())
    }
}

/// The lines of a cart: book, quantity, price. In the order of the books, so that transactions that update several books lock
/// them in one order.
pub(super) fn lines(session: &mut dyn Session, cart: i64) -> Result<Vec<Row>, Failure> {
    const LINES: &str =
        "SELECT scl_i_id, scl_qty, scl_cost FROM shopping_cart_line WHERE scl_sc_id = $1 ORDER BY scl_i_id";
    session.query(LINES, &values![cart])
}

/// The page of a cart.
pub(super) fn show(session: &mut dyn Session, cart: i64) -> Result<(), Failure> {
    const SHOWN: &str = "\
        SELECT scl_i_id, i_title, i_srp, i_backing, scl_qty, scl_cost FROM shopping_cart_line JOIN item ON i_id = scl_i_id \
        WHERE scl_sc_id = $1 ORDER BY scl_i_id";
    session.query(SHOWN, &values![cart]).map(drop)
}

fn add(session: &mut dyn Session, cart: i64, item: i64) -> Result<(), Failure> {
    const ADD: &str = "\
        INSERT INTO shopping_cart_line SELECT CAST($1 AS BIGINT), i_id, 1, i_cost FROM item WHERE i_id = $2 \
        ON CONFLICT (scl_sc_id, scl_i_id) DO UPDATE SET scl_qty = shopping_cart_line.scl_qty + 1";
    session.execute(ADD, &values![cart, item])
}

/// Changes quantities (clause 2.4.5.1): that of the only book to 1 to 10; of several books, those of some to another number from
/// 0 to 9, where 0 removes the book.
fn refresh(session: &mut dyn Session, cart: i64, random: &mut Random) -> Result<(), Failure> {
    let mut lines = lines(session, cart)?;
    if let [line] = &lines[..] {
        return set(session, cart, line.int(0), random.between(1, 10));
    }
    if lines.is_empty() {
        return Ok(());
    }
    for _ in 0..random.index(lines.len()) + 1 {
        let line = lines.swap_remove(random.index(lines.len()));
        let other = random.between(0, 8);
        let quantity = if other >= line.int(1) { other + 1 } else { other };
        set(session, cart, line.int(0), quantity)?;
    }
    Ok(())
}

fn set(session: &mut dyn Session, cart: i64, item: i64, quantity: i64) -> Result<(), Failure> {
    const SET: &str = "UPDATE shopping_cart_line SET scl_qty = $1 WHERE scl_sc_id = $2 AND scl_i_id = $3";
    const REMOVE: &str = "DELETE FROM shopping_cart_line WHERE scl_sc_id = $1 AND scl_i_id = $2";
    match quantity {
        0 => session.execute(REMOVE, &values![cart, item]),
        _ => session.execute(SET, &values![quantity, cart, item]),
    }
}
