//! Order Inquiry and Order Display (clauses 2.9 and 2.10).

use super::{Shop, Visitor, only, user_name};
use crate::database::{Access, Failure, Session, read, transact};
use crate::values;

const LATEST: &str = "\
    SELECT o_id, c_passwd FROM customer JOIN orders ON o_c_id = c_id WHERE c_uname = $1 ORDER BY o_id DESC LIMIT 1";

const ORDER: &str = "\
    SELECT c_fname, c_lname, c_phone, c_email, o_date, o_sub_total, o_tax, o_total, o_ship_type, o_ship_date, o_status, cx_type, \
    bill.addr_street1, bill.addr_city, bill_co.co_name, ship.addr_street1, ship.addr_city, ship_co.co_name \
    FROM orders JOIN customer ON c_id = o_c_id JOIN cc_xacts ON cx_o_id = o_id \
    JOIN address AS bill ON bill.addr_id = o_bill_addr_id JOIN country AS bill_co ON bill_co.co_id = bill.addr_co_id \
    JOIN address AS ship ON ship.addr_id = o_ship_addr_id JOIN country AS ship_co ON ship_co.co_id = ship.addr_co_id \
    WHERE o_id = $1";

const LINES: &str = "\
    SELECT ol_i_id, i_title, i_publisher, i_cost, ol_qty, ol_discount, ol_comments FROM order_line JOIN item ON i_id = ol_i_id \
    WHERE ol_o_id = $1 ORDER BY ol_id";

impl Visitor {
    /// The form, with the customer's name.
    pub(super) fn order_inquiry(&mut self, shop: &Shop, session: &mut dyn Session) -> Result<(), Failure> {
        let customer = self.some_customer(shop);
        let statement = "SELECT c_uname FROM customer WHERE c_id = $1";
        only(read(session, &mut self.conflicts, statement, &values![customer])?, "the customer")?;
        Ok(())
    }

    /// The customer's latest order, if there is one.
    pub(super) fn order_display(&mut self, shop: &Shop, session: &mut dyn Session) -> Result<(), Failure> {
        let name = user_name(self.some_customer(shop));
        transact(session, Access::Read, &mut self.conflicts, |session| {
            let latest = session.query(LATEST, &values![name.as_str()])?;
            let Some(order) = latest.first() else { return Ok(()) };
            if order.text(1) != name.to_lowercase() {
                return Err(Failure::Wrong(format!("customer {name} has another password")));
            }
            only(session.query(ORDER, &values![order.int(0)])?, "the order")?;
            match session.query(LINES, &values![order.int(0)])?.is_empty() {
                true => Err(Failure::Wrong(format!("order {} has no lines", order.int(0)))),
                false => Ok(()),
            }
        })
    }
}
