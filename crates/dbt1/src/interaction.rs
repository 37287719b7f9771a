//! The fourteen web interactions (clause 2).

use std::fmt;

/// A page that a browser requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are those of the specification")]
pub enum Interaction {
    AdminConfirm,
    AdminRequest,
    BestSellers,
    BuyConfirm,
    BuyRequest,
    CustomerRegistration,
    Home,
    NewProducts,
    OrderDisplay,
    OrderInquiry,
    ProductDetail,
    SearchRequest,
    SearchResults,
    ShoppingCart,
}

use Interaction::*;

impl Interaction {
    /// All, in the order of the transition tables.
    pub const ALL: [Interaction; 14] = [
        AdminConfirm,
        AdminRequest,
        BestSellers,
        BuyConfirm,
        BuyRequest,
        CustomerRegistration,
        Home,
        NewProducts,
        OrderDisplay,
        OrderInquiry,
        ProductDetail,
        SearchRequest,
        SearchResults,
        ShoppingCart,
    ];

    /// In the order of the specification: those that browse, then those that order.
    pub const LISTED: [Interaction; 14] = [
        Home,
        NewProducts,
        BestSellers,
        ProductDetail,
        SearchRequest,
        SearchResults,
        ShoppingCart,
        CustomerRegistration,
        BuyRequest,
        BuyConfirm,
        OrderInquiry,
        OrderDisplay,
        AdminRequest,
        AdminConfirm,
    ];

    /// The interaction's name in the specification.
    pub fn name(self) -> &'static str {
        match self {
            AdminConfirm => "Admin Confirm",
            AdminRequest => "Admin Request",
            BestSellers => "Best Sellers",
            BuyConfirm => "Buy Confirm",
            BuyRequest => "Buy Request",
            CustomerRegistration => "Customer Registration",
            Home => "Home",
            NewProducts => "New Products",
            OrderDisplay => "Order Display",
            OrderInquiry => "Order Inquiry",
            ProductDetail => "Product Detail",
            SearchRequest => "Search Request",
            SearchResults => "Search Results",
            ShoppingCart => "Shopping Cart",
        }
    }
}

impl fmt::Display for Interaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
