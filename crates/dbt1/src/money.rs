//! The amounts of an order, in cents (clauses 2.4.4 and 4.7.1).

/// Tax in hundredths of a per cent.
pub const TAX: i64 = 825;
/// Shipping of an order.
pub const SHIPPING: i64 = 300;
/// Shipping of each book.
pub const SHIPPING_EACH: i64 = 100;

/// Amounts of an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Amounts {
    /// The price of all books, less the customer's discount.
    pub sub_total: i64,
    /// The tax.
    pub tax: i64,
    /// What the customer pays: price, tax and shipping.
    pub total: i64,
}

impl Amounts {
    /// Of an order of so many books. (The population counts a book for each line, as TPC-W's own rows do.)
    pub fn new(sub_total: i64, books: i64) -> Amounts {
        let tax = (sub_total * TAX + 5000) / 10_000;
        Amounts { sub_total, tax, total: sub_total + tax + SHIPPING + SHIPPING_EACH * books }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_is_price_tax_and_shipping() {
        assert_eq!(Amounts::new(10_000, 2), Amounts { sub_total: 10_000, tax: 825, total: 11_325 });
        assert_eq!(Amounts::new(1, 1).tax, 0);
        assert_eq!(Amounts::new(7, 1).tax, 1);
    }
}
