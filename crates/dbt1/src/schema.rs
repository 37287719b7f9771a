//! The tables: TPC-W, clause 1.4, with the shopping carts that clause 1.6 leaves to the implementation.

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The table's name.
    pub name: &'static str,
    /// The table's columns, in order: name and type.
    pub columns: &'static [(&'static str, &'static str)],
    /// The columns of its primary key.
    pub key: &'static str,
}

const INT: &str = "BIGINT NOT NULL";
const TEXT: &str = "TEXT NOT NULL";

/// What the database holds: one row for each fact (scale, seed, whether the population is complete).
pub const POPULATION: Table =
    Table { name: "population", columns: &[("p_name", TEXT), ("p_value", INT)], key: "p_name" };

/// Customers.
pub const CUSTOMER: Table = Table {
    name: "customer",
    columns: &[
        ("c_id", INT),
        ("c_uname", TEXT),
        ("c_passwd", TEXT),
        ("c_fname", TEXT),
        ("c_lname", TEXT),
        ("c_addr_id", INT),
        ("c_phone", TEXT),
        ("c_email", TEXT),
        ("c_since", INT),
        ("c_last_login", INT),
        ("c_login", INT),
        ("c_expiration", INT),
        ("c_discount", INT),
        ("c_balance", INT),
        ("c_ytd_pmt", INT),
        ("c_birthdate", INT),
        ("c_data", TEXT),
    ],
    key: "c_id",
};

/// Addresses of customers and orders.
pub const ADDRESS: Table = Table {
    name: "address",
    columns: &[
        ("addr_id", INT),
        ("addr_street1", TEXT),
        ("addr_street2", TEXT),
        ("addr_city", TEXT),
        ("addr_state", TEXT),
        ("addr_zip", TEXT),
        ("addr_co_id", INT),
    ],
    key: "addr_id",
};

/// Orders.
pub const ORDERS: Table = Table {
    name: "orders",
    columns: &[
        ("o_id", INT),
        ("o_c_id", INT),
        ("o_date", INT),
        ("o_sub_total", INT),
        ("o_tax", INT),
        ("o_total", INT),
        ("o_ship_type", TEXT),
        ("o_ship_date", INT),
        ("o_bill_addr_id", INT),
        ("o_ship_addr_id", INT),
        ("o_status", TEXT),
    ],
    key: "o_id",
};

/// Lines of orders.
pub const ORDER_LINE: Table = Table {
    name: "order_line",
    columns: &[
        ("ol_o_id", INT),
        ("ol_id", INT),
        ("ol_i_id", INT),
        ("ol_qty", INT),
        ("ol_discount", INT),
        ("ol_comments", TEXT),
    ],
    key: "ol_o_id, ol_id",
};

/// Payments by credit card, one for each order.
pub const CC_XACTS: Table = Table {
    name: "cc_xacts",
    columns: &[
        ("cx_o_id", INT),
        ("cx_type", TEXT),
        ("cx_num", TEXT),
        ("cx_name", TEXT),
        ("cx_expire", INT),
        ("cx_auth_id", TEXT),
        ("cx_xact_amt", INT),
        ("cx_xact_date", INT),
        ("cx_co_id", INT),
    ],
    key: "cx_o_id",
};

/// Books.
pub const ITEM: Table = Table {
    name: "item",
    columns: &[
        ("i_id", INT),
        ("i_title", TEXT),
        ("i_a_id", INT),
        ("i_pub_date", INT),
        ("i_publisher", TEXT),
        ("i_subject", TEXT),
        ("i_desc", TEXT),
        ("i_related1", INT),
        ("i_related2", INT),
        ("i_related3", INT),
        ("i_related4", INT),
        ("i_related5", INT),
        ("i_thumbnail", INT),
        ("i_image", INT),
        ("i_srp", INT),
        ("i_cost", INT),
        ("i_avail", INT),
        ("i_stock", INT),
        ("i_isbn", TEXT),
        ("i_page", INT),
        ("i_backing", TEXT),
        ("i_dimensions", TEXT),
    ],
    key: "i_id",
};

/// Authors.
pub const AUTHOR: Table = Table {
    name: "author",
    columns: &[
        ("a_id", INT),
        ("a_fname", TEXT),
        ("a_lname", TEXT),
        ("a_mname", TEXT),
        ("a_dob", INT),
        ("a_bio", TEXT),
    ],
    key: "a_id",
};

/// Countries, with their currencies.
pub const COUNTRY: Table = Table {
    name: "country",
    columns: &[("co_id", INT), ("co_name", TEXT), ("co_exchange", TEXT), ("co_currency", TEXT)],
    key: "co_id",
};

/// Shopping carts.
pub const CART: Table =
    Table { name: "shopping_cart", columns: &[("sc_id", INT), ("sc_time", INT)], key: "sc_id" };

/// Lines of shopping carts.
pub const CART_LINE: Table = Table {
    name: "shopping_cart_line",
    columns: &[("scl_sc_id", INT), ("scl_i_id", INT), ("scl_qty", INT), ("scl_cost", INT)],
    key: "scl_sc_id, scl_i_id",
};

/// The eight tables of the specification, in the order in which they are populated.
pub const TABLES: [Table; 8] = [COUNTRY, AUTHOR, ITEM, ADDRESS, CUSTOMER, ORDERS, ORDER_LINE, CC_XACTS];

/// Tables that are empty at first.
const OTHER_TABLES: [Table; 3] = [POPULATION, CART, CART_LINE];

/// The indexes besides those of the primary keys: what the interactions search by. Made after the rows have been loaded.
pub const INDEXES: &str = "\
CREATE INDEX author_lname ON author (a_lname);
CREATE INDEX item_title ON item (i_title, i_id, i_a_id);
CREATE INDEX item_subject ON item (i_subject, i_pub_date DESC, i_title);
CREATE INDEX item_author ON item (i_a_id);
CREATE INDEX address_zip ON address (addr_zip);
CREATE UNIQUE INDEX customer_uname ON customer (c_uname);
CREATE INDEX orders_customer ON orders (o_c_id, o_id);
CREATE INDEX order_line_item ON order_line (ol_i_id, ol_o_id);
ANALYZE;
";

/// The statements that make the tables.
pub fn create_tables() -> String {
    let all = TABLES.iter().chain(&OTHER_TABLES);
    all.map(|table| {
        let columns: Vec<String> =
            table.columns.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
        format!("CREATE TABLE {} ({}, PRIMARY KEY ({}));\n", table.name, columns.join(", "), table.key)
    })
    .collect()
}
