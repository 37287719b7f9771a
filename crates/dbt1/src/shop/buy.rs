//! Buy Confirm: the cart becomes an order (clause 2.8).

use super::cart::lines;
use super::customer::find_or_add_address;
use super::{Shop, Visitor, now, only};
use crate::database::{Access, Failure, Session, transact};
use crate::ledger::Ledger;
use crate::money::Amounts;
use crate::population::{CARDS, SHIPPING, address_columns};
use crate::value::{Row, Value};
use crate::values;

/// Per cent of the orders that are sent to an address of their own (clause 2.8.4).
const OTHER_ADDRESS: i64 = 5;
/// A book whose stock falls below 10 is restocked by 21 (clause 2.8.3).
const STOCK_LEAST: i64 = 10;
const RESTOCKED: i64 = 21;

const TAKE: &str = "UPDATE item SET i_stock = i_stock - $1 WHERE i_id = $2 RETURNING i_stock";
const RESTOCK: &str = "UPDATE item SET i_stock = i_stock + $1 WHERE i_id = $2 RETURNING i_stock";
const ORDER: &str = "INSERT INTO orders VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'PENDING')";
const LINE: &str = "INSERT INTO order_line VALUES ($1, $2, $3, $4, $5, $6)";
const PAYMENT: &str = "\
    INSERT INTO cc_xacts VALUES ($1, $2, $3, $4, $5, $6, $7, $8, (SELECT addr_co_id FROM address WHERE addr_id = $9))";

/// The visitor's input, drawn before the transaction, so that a second attempt has the same input.
struct Entered {
    order: i64,
    customer: i64,
    cart: i64,
    /// The address's number if it is new, and its columns.
    address: Option<(i64, [Value; 6])>,
    shipping: &'static str,
    card: &'static str,
    card_number: String,
    authorisation: String,
    /// Days.
    shipped_after: i64,
    expires_after: i64,
    comment: String,
}

impl Visitor {
    pub(super) fn buy_confirm(&mut self, shop: &Shop, session: &mut dyn Session) -> Result<(), Failure> {
        let random = &mut self.random;
        // The transition tables lead here only from Buy Request, and there only over the cart.
        let (Some(customer), Some(cart)) = (self.customer, self.cart) else {
            return Err(Failure::Wrong("an order is confirmed without customer or cart".into()));
        };
        let other_address = random.happens(OTHER_ADDRESS);
        let entered = Entered {
            order: shop.orders.next(),
            customer,
            cart,
            address: other_address.then(|| (shop.addresses.next(), address_columns(random))),
            shipping: random.one_of(&SHIPPING),
            card: random.one_of(&CARDS),
            card_number: random.digits(16, 16),
            authorisation: random.text(15, 15),
            shipped_after: random.between(0, 7),
            expires_after: random.between(10, 730),
            comment: random.text(20, 100),
        };
        let done = transact(session, Access::Write, &mut self.conflicts, |session| entered.confirm(session))?;
        self.ledger.merge(&done);
        Ok(())
    }
}

impl Entered {
    fn confirm(&self, session: &mut dyn Session) -> Result<Ledger, Failure> {
        const CUSTOMER: &str = "SELECT c_discount, c_addr_id, c_fname, c_lname FROM customer WHERE c_id = $1";
        let customer = only(session.query(CUSTOMER, &values![self.customer])?, "the customer")?;
        let lines = lines(session, self.cart)?;
        if lines.is_empty() {
            return Err(Failure::Wrong(format!("cart {} is empty when its order is confirmed", self.cart)));
        }
        let discount = customer.int(0);
        let mut done = Ledger { orders: 1, lines: lines.len() as i64, ..Ledger::default() };
        done.books = lines.iter().map(|line| line.int(1)).sum();
        let price: i64 = lines.iter().map(|line| line.int(1) * line.int(2)).sum();
        let amounts = Amounts::new(price * (100 - discount) / 100, done.books);
        done.revenue = amounts.total;
        let ship_to = match &self.address {
            None => customer.int(1),
            Some((number, columns)) => {
                let address = find_or_add_address(session, *number, columns)?;
                done.addresses = i64::from(address == *number);
                address
            }
        };
        self.add_order(session, amounts, customer.int(1), ship_to)?;
        for (index, line) in lines.iter().enumerate() {
            self.add_line(session, index as i64 + 1, line, discount)?;
            let book = done.of_book.entry(line.int(0)).or_default();
            book.ordered += line.int(1);
            book.restocked += take(session, line.int(0), line.int(1))?;
        }
        self.add_payment(session, &customer, amounts.total, ship_to)?;
        session.execute("DELETE FROM shopping_cart_line WHERE scl_sc_id = $1", &values![self.cart])?;
        Ok(done)
    }

    fn add_order(
        &self,
        session: &mut dyn Session,
        amounts: Amounts,
        bill_to: i64,
        ship_to: i64,
    ) -> Result<(), Failure> {
        let shipped = now() + self.shipped_after * 86_400;
        let Amounts { sub_total, tax, total } = amounts;
        let row = values![
            self.order,
            self.customer,
            now(),
            sub_total,
            tax,
            total,
            self.shipping,
            shipped,
            bill_to,
            ship_to
        ];
        session.execute(ORDER, &row)
    }

    fn add_line(
        &self,
        session: &mut dyn Session,
        number: i64,
        line: &Row,
        discount: i64,
    ) -> Result<(), Failure> {
        let row = values![self.order, number, line.int(0), line.int(1), discount, self.comment.as_str()];
        session.execute(LINE, &row)
    }

    fn add_payment(
        &self,
        session: &mut dyn Session,
        customer: &Row,
        total: i64,
        ship_to: i64,
    ) -> Result<(), Failure> {
        let name = format!("{} {}", customer.text(2), customer.text(3));
        let expires = now() / 86_400 + self.expires_after;
        let row = values![
            self.order,
            self.card,
            self.card_number.as_str(),
            name,
            expires,
            self.authorisation.as_str(),
            total,
            now(),
            ship_to
        ];
        session.execute(PAYMENT, &row)
    }
}

/// Takes books from the stock, and restocks if there are few. Returns by how many it has restocked.
fn take(session: &mut dyn Session, item: i64, quantity: i64) -> Result<i64, Failure> {
    let left = only(session.query(TAKE, &values![quantity, item])?, "the book")?.int(0);
    if left >= STOCK_LEAST {
        return Ok(0);
    }
    only(session.query(RESTOCK, &values![RESTOCKED, item])?, "the book")?;
    Ok(RESTOCKED)
}
