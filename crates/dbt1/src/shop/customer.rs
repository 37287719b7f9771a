//! Customers: Customer Registration and Buy Request (clauses 2.6 and 2.7).

use super::cart::show;
use super::{Shop, Visitor, now, only, user_name};
use crate::database::{Access, Failure, Session, read, transact};
use crate::population::{address_columns, new_customer};
use crate::value::Value;
use crate::values;

const ADDED: &str = "\
    INSERT INTO customer VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";

const RETURNED: &str = "\
    SELECT c_id, c_passwd, c_fname, c_lname, c_phone, c_email, c_data, c_birthdate, addr_street1, addr_street2, addr_city, \
    addr_state, addr_zip, co_name FROM customer JOIN address ON addr_id = c_addr_id JOIN country ON co_id = addr_co_id \
    WHERE c_uname = $1";

impl Visitor {
    /// The form, with the name of a customer that the shop knows.
    pub(super) fn customer_registration(&mut self, session: &mut dyn Session) -> Result<(), Failure> {
        let Some(customer) = self.customer else { return Ok(()) };
        let statement = "SELECT c_uname FROM customer WHERE c_id = $1";
        only(read(session, &mut self.conflicts, statement, &values![customer])?, "the customer")?;
        Ok(())
    }

    /// Logs the customer in, or registers a new one, and shows the cart.
    pub(super) fn buy_request(&mut self, shop: &Shop, session: &mut dyn Session) -> Result<(), Failure> {
        let cart = self.cart;
        let (customer, new) = match self.customer {
            Some(customer) => (customer, None),
            None => {
                let customer = shop.customers.next();
                let number = shop.addresses.next();
                let columns = address_columns(&mut self.random);
                let today = now() / 86_400;
                let row = new_customer(customer, number, [today, today], now(), &mut self.random);
                (customer, Some((row, number, columns)))
            }
        };
        let added = transact(session, Access::Write, &mut self.conflicts, |session| {
            let mut added = false;
            match new.clone() {
                None => log_in(session, customer)?,
                Some((mut row, number, columns)) => {
                    let address = find_or_add_address(session, number, &columns)?;
                    added = address == number;
                    row[5] = Value::Int(address);
                    session.execute(ADDED, &row)?;
                }
            }
            if let Some(cart) = cart {
                show(session, cart)?;
            }
            Ok(added)
        })?;
        self.ledger.customers += i64::from(new.is_some());
        self.ledger.addresses += i64::from(added);
        self.customer = Some(customer);
        Ok(())
    }
}

fn log_in(session: &mut dyn Session, customer: i64) -> Result<(), Failure> {
    const LOGGED_IN: &str = "UPDATE customer SET c_login = $1, c_expiration = $2 WHERE c_id = $3";
    let name = user_name(customer);
    let row = only(session.query(RETURNED, &values![name.as_str()])?, "the customer")?;
    if row.int(0) != customer || row.text(1) != name.to_lowercase() {
        return Err(Failure::Wrong(format!(
            "the name {name} and its password belong to customer {}",
            row.int(0)
        )));
    }
    session.execute(LOGGED_IN, &values![now(), now() + 2 * 3600, customer])
}

/// The number of an address: that of an equal one, or `number`, under which it is added.
pub(super) fn find_or_add_address(
    session: &mut dyn Session,
    number: i64,
    columns: &[Value; 6],
) -> Result<i64, Failure> {
    const FIND: &str = "\
        SELECT addr_id FROM address WHERE addr_street1 = $1 AND addr_street2 = $2 AND addr_city = $3 AND addr_state = $4 \
        AND addr_zip = $5 AND addr_co_id = $6";
    const ADD: &str = "INSERT INTO address VALUES ($1, $2, $3, $4, $5, $6, $7)";
    if let Some(row) = session.query(FIND, columns)?.first() {
        return Ok(row.int(0));
    }
    let row: Vec<Value> = [Value::Int(number)].into_iter().chain(columns.iter().cloned()).collect();
    session.execute(ADD, &row)?;
    Ok(number)
}
