//! The meter's part of the table: what metering costs, and whether what it says is true.

pub mod check;
mod figure;
mod plan;
mod quantity;
pub mod table;

pub use figure::{Figure, evaluate};
pub use plan::{Row, rows};
